// Package settings writes what a program reads of its own: the configuration of the tool
// server and of the hooks for one launch, in each program's own form, and the answers to its
// first-run dialogs. A provider names the forms it takes; a new program with a form of its own
// is one function in a table here.
//
//   - For returns the settings of a launch: arguments, variables and files.
//   - Settings.Write writes the files, below the configuration directory of the launch and,
//     for programs that read their settings nowhere else, below the private home.
//   - Launch.Accept marks the workspace as trusted in the program's state file.
//   - ProjectPaths are the files by which a project could configure the programs itself.
//
// Promises: nothing is written into the workspace or into a person's home. A document of a
// program keeps every key that this package does not set. A link that an earlier agent left in
// the private home is removed, not followed. A state file that the program also writes is
// changed under the program's own lock. No value of a variable is written except claude's
// record of an accepted key, which holds its last 20 characters.
package settings
