// Package work is the work of one session in git: the workspaces its agents get, what is taken
// from them, the checkpoint, the one commit of each round behind the output gate, and the way
// of that commit to where people find it: a branch of the server with its pull request, or one
// of their clone. It touches no pane and no program of an agent.
//
// Promises: each of its effects may be carried out again after a kill at any line, with the
// same commits, refs and pull requests in the end; history is never rewritten; nothing that an
// agent wrote is removed before it is integrated or preserved; only refs that the records of
// the session name are believed.
//
// It moves refs of the store below refs/agentmux, writes workspaces below their
// root, and notes the session in the register of the machine.
package work
