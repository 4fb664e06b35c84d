package orchestrator

// RecordTypes is the table of the types of records.
var RecordTypes = recordTypes
