// Package transcript writes down what the panes of a session print, as text and without
// secrets. The process behind a pane's pipe knows no secret: it tells a host everything, and
// the host takes the secrets out and writes transcripts/<launch>.log of the session. When a
// host goes, the process tells the next one everything again, which cuts the file back to
// where those words began. A transcript ends at a size; nothing else is lost while either
// side lives.
package transcript
