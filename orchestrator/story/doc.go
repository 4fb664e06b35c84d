// Package story says of one session what a person wants to hear of it: how it ended or why it
// waits, in a sentence; what keeps it from continuing, since when and how often that was
// tried; what it still owes; and what to do next.
//
// There is one fold of the records, [Progress], for readers that take one record at a time,
// as the mirror does. It holds results as values; the words are its reader's. The status, its
// JSON, the monitor and the last lines of a command are all made of a [Story]: [Tell] makes
// it from a state, from the progress of the committed records and from a few [Facts] that
// only a look at the machine can tell.
//
// It is pure: it keeps and writes nothing.
package story
