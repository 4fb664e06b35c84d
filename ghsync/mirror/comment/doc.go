// Package comment renders what is said about a session on its issue: the status, review
// rounds, questions, gates and the end. A text is a function of a [View], so two mirrors of
// the same records write the same.
//
// It is pure. Texts of other people and of agents go through the view's neutralizer; secrets
// are redacted by the caller, which also splits what is too long.
package comment
