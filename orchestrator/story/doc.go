// Package story says of one session what a person wants to hear of it: how it ended or why it
// waits, in a sentence; what keeps it from going on, since when and how often that was tried;
// what it still owes; and what to do next. The status, its JSON, the monitor and the last
// lines of a command are all made of the same [Story]. Its parts that have a Fold of their own
// are for readers that take one record at a time, as the mirror does: they hold results as
// values, the words are their reader's.
//
// It is pure: [Tell] reads a state, the committed records and a few [Facts] that only a look
// at the machine can tell. It keeps and writes nothing.
package story
