"""The same functions on Spark: its jobs, its data source, its sessions. Nothing else here imports pyspark."""
