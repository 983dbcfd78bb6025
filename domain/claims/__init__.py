"""What a worker says it did, held against what was seen."""
