// Package ticket keeps the requests of a repository that wait for their turn, and the order in
// which they get it.
//
// A ticket is a claimed request that is no session yet: the record that was judged, as its
// snapshot, who asked and by what, and the name and identity of the session that it becomes. Base,
// configuration and workflow are those of the moment at which it gets its slot.
//
// A Shelf is the directory tickets of a managed project. A ticket is one file,
// <issue>.json, replaced whole; the file <issue>.placard.json beside it belongs to the placard of
// package mirror, and goes with the ticket. The process that has the lock of the state home owns
// the directory; any other one writes <issue>.stop.json at most, which asks the owner to drop the
// ticket.
//
// What is damaged stops nothing: a file that cannot be read is moved aside and named, and its
// request is met again if its label is still on or its claim is left. A file of a newer version
// stays where it is and holds its issue.
//
// [Order] is pure.
package ticket
