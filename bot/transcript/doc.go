// Package transcript records what the panes of a session print, as text and without secrets.
// The process behind a pane's pipe (Send) knows no secret: it sends everything to a host, and
// the host (Recorders) removes the secrets and writes transcripts/<launch>.log of the session.
//
// Promises: when a host ends, the process sends everything again to the next one, which cuts
// the file back to where those words began. A transcript ends at 20 MiB; nothing else is lost
// while either side lives. Without a host nothing is written.
package transcript
