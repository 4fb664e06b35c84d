// Package lineage says which commits are the own ones of a session, or of an agent of an agents file: by the session's
// records, and on the server, where another machine may have pushed some before this one continued.
//
// A machine may push a branch after the last checkpoint that the server has of it. The machine that continues finds the
// name taken then, and would take the next one: a second branch and a second pull request for the same work.
//
// Everybody who may push can write what identifies our commits, since their trailers are public. So a branch that counts
// as the own one gives its name and its history, and nothing else: its commits become parents of what is handed in and
// checked here, never its content. Somebody who forges such a branch has added commits to a branch that they could
// push to anyway.
package lineage
