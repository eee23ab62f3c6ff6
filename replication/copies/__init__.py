"""Forensics on files, with nothing alive: plan, audit, explain, repair, salvage, the controllers' copies."""
