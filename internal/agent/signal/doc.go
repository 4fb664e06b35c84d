// Package signal reads what a program says of itself while it works: by hooks, by the stream
// of a headless run. It maps both to a Signal and keeps the signals of a launch, one line
// each, in the file events.jsonl of the launch directory. Status adds them up to what the
// program is doing.
//
//   - Record is what a hook calls: it appends the event and returns the hook's answer. At the
//     end of a turn the answer can be the next instruction.
//   - Render shows a headless program's stream and emits the signal of its end, with usage.
//   - Read returns the lines behind an offset; Status.Apply folds them.
//
// Promises: the answer of a hook is valid even when Record fails, because a broken answer
// would stop the program. A line is appended whole. Texts are cut to 500 bytes. Nothing here
// is trusted: agents can write to the file, so a signal says what to check, never what is
// true. A link in the place of the file is refused. What Render prints holds no control
// characters.
package signal
