package bot

// PauseAfter is pauseAfter for tests.
var PauseAfter = pauseAfter
