#!/usr/bin/env bash
# Write the log files of magic 0 and 1 beside this script anew, with kafka-clients 3.9.2 from Maven Central.
# Java 17 or later and Maven are needed. The bytes are the same each time, down to the codec libraries' versions.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:-$here/../../../build/legacy}
mvn --quiet --batch-mode -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$build/lib"
javac -d "$build/classes" -cp "$build/lib/*" "$here/LegacyMessageSets.java"
java -cp "$build/classes:$build/lib/*" LegacyMessageSets "$here"
