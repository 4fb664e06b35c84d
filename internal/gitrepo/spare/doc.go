// Package spare gives workspaces that were made ahead to the agents that need one.
//
// A spare is a whole workspace of package workspace, made at some commit, into which no agent
// was let; no program of the repository has run in it either. It may be brought to another
// commit; a workspace never is. That is done without a process, so that no git runs a second
// time under what is in a workspace, and where it is known to give what a checkout gives: the
// caller makes a new workspace otherwise.
//
// Promises: Take gives the spare away whole or not at all. What a kill leaves of it, at the place
// of the spare or where a workspace is made, the next Remove or Make replaces.
//
// Stored: what package workspace stores, at the place of the spare and at that of the workspace.
package spare
