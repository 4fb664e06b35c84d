// Package decide says what a session does next.
//
// It is pure: no clock, no file, no network, no goroutine. [Reduce] maps a workflow, a state
// and one input to the next state, the records that tell what happened, and the effects that
// someone else makes true. Everything it needs to know arrives as evidence inside the input;
// everything it wants done leaves as an effect that is safe to carry out twice.
//
// A reducer carries one decision. What it decides about are nouns with the fields they use:
// clock, questions, workspaces, crew, research, outcome, gate, reviews, completion and plan. All add records and effects to one queue, in the order in which things happen.
//
// What becomes of the agents of an agents file is the table of orchestrator/team; teamwork
// carries it out. What becomes of messages is the office of orchestrator/post.
//
// Reduce is total: every pair of phase and input has a defined result. Edge inputs (a command,
// a tool line, the result of an effect) always leave a change or a record; level inputs (an
// observation, an agent's condition, a timer) leave a record only when their evidence changes.
//
// What the agents owe, and which of their calls count, is orchestrator/duty's: the tool
// processes of agents ask it, too, so that what an agent is told and what the session later
// does never disagree.
package decide
