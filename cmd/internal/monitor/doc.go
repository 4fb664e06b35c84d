// Package monitor shows a session live in a terminal: its phases with their
// times, subplans, agents, research, recent records, and the gate or question that
// waits for a person together with the keys that answer it. Of a run of an agents file it
// shows the graph of its agents instead of phases; how far each one is it has from
// [story.Members], as agentmux agents status.
//
// It only reads the session directory, once a second, and passes what a person types to
// [Options.Send]. [Build] makes a [View] of a state and
// its records, [Render] a text of the View; both are pure. Texts of agents and
// issues are shown without control and formatting characters, so that none of them
// reaches the terminal as a command. Colours are used on a terminal only, never with
// NO_COLOR.
package monitor
