// Package agentmux_test holds the layout of the repository: which package may import
// which, which package owns which third-party module, what may lie at the top level, and
// the limits of the source. It reads the files in this process; a test that runs the go
// command could be answered from the test cache after a file changed.
package agentmux_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/agentmux/agentmux/"

// A row is one package: its floor, and the packages of ours it may import. Imports go
// down; a package on the same floor or above is refused even if a row names it.
type row struct {
	floor   int
	name    string
	imports string
}

// table is the house. A new line, or a new word in one, is a decision about the design:
// the commit says why.
var table = []row{
	{15, "cmd/agentmux", "*"}, // wires everything but the packages of tests
	{13, "cmd/internal/daemon", "internal/footprint bot bot/account bot/admission bot/claim bot/config bot/handover bot/host bot/intake bot/metrics bot/report bot/request cmd/internal/doctor cmd/internal/exit cmd/internal/site ghsync ghsync/sight ghsync/transport" +
		" internal/agent/cooldown internal/document internal/durable internal/redact orchestrator/session workflows"}, // wires the bot with what the commands find; says what is missing as doctor does
	{14, "cmd/internal/job", "ghsync/origin bot/account bot/claim bot/config bot/ear bot/host bot/orphan bot/project bot/report bot/request bot/tenure cmd/internal/console cmd/internal/daemon cmd/internal/doctor cmd/internal/exit cmd/internal/outcome cmd/internal/show cmd/internal/site" +
		" ghsync ghsync/dispatch ghsync/markdown internal/durable internal/sanitize orchestrator orchestrator/engine orchestrator/session orchestrator/story orchestrator/watch workflows"}, // a job is the bot of one issue: it adds what the runner gives and hears; doctor is told the same; its sweep starts a job for what a job takes
	{9, "bot/metrics", "bot/intake bot/report"},                  // values become metrics: it knows no bot
	{8, "bot/report", "bot/account bot/intake ghsync/transport"}, // values alone, between the bot and those who ask
	{11, "bot", "bot/again bot/inbox bot/account bot/bell bot/checkpoint bot/claim bot/config bot/due bot/ear bot/follow bot/gate bot/host bot/intake bot/journal bot/orphan bot/project bot/queue bot/recall bot/refusal bot/rehearsal bot/report bot/request bot/round bot/tenure bot/ticket bot/upkeep ghsync ghsync/markdown ghsync/mirror ghsync/mirror/comment" +
		" ghsync/transport internal/crash internal/document orchestrator orchestrator/command orchestrator/session orchestrator/watch"}, // joins the rooms of the bot: each of them knows its part alone
	{1, "bot/bell", "internal/durable orchestrator/watch"}, // between the bot and commands beside it, which do not know one another
	{1, "bot/due", ""},                   // numbers and times alone
	{2, "bot/round", "ghsync/transport"}, // what it is told of each repository alone
	{1, "bot/admission", ""},             // reads the system, and knows nothing of what is admitted
	{14, "cmd/internal/start", "bot/checkpoint bot/claim bot/gate bot/host bot/project bot/recall bot/request cmd/internal/doctor cmd/internal/exit cmd/internal/hosting cmd/internal/hostlog cmd/internal/show cmd/internal/site cmd/internal/steer ghsync internal/crash orchestrator orchestrator/session bot/roster cmd/internal/console orchestrator/command workflows/agents"}, // probes the programs first; a paused session is steered
	{13, "cmd/internal/cleanup", "bot/restore bot/bell bot/config bot/host cmd/internal/console cmd/internal/exit cmd/internal/hosting cmd/internal/hostlog cmd/internal/show cmd/internal/site ghsync/mirror" +
		" internal/durable internal/gitrepo internal/gitrepo/workspace orchestrator orchestrator/session"}, // ends what corrupt sessions have running, as a stop does
	{13, "cmd/internal/steer", "bot/inbox bot/bell bot/host bot/ticket cmd/internal/console cmd/internal/exit cmd/internal/hosting cmd/internal/show cmd/internal/site" +
		" internal/document orchestrator orchestrator/command orchestrator/post orchestrator/postbox orchestrator/session orchestrator/story workflows/agents workflows/message"}, // a command may need a host, or the bot that serves the project
	{12, "cmd/internal/setup", "bot/account bot/config bot/request cmd/internal/console cmd/internal/doctor cmd/internal/exit cmd/internal/site ghsync ghsync/transport" +
		" internal/agent internal/durable internal/gitrepo internal/gitrepo/clone"}, // says of logins what doctor finds; writes a workflow only where there is none
	{13, "cmd/internal/trial", "bot/config bot/host bot/place cmd/internal/console cmd/internal/doctor cmd/internal/exit cmd/internal/hosting cmd/internal/hostlog cmd/internal/providers cmd/internal/site internal/agent internal/agent/signal internal/crash internal/durable internal/gitrepo internal/gitrepo/git internal/gitrepo/workspace orchestrator orchestrator/command orchestrator/engine orchestrator/session orchestrator/session/register orchestrator/toolset workflows workflows/agents"}, // a session of its own beside those of people: makes a scratch repository, runs, judges and removes
	{12, "cmd/internal/providers", "bot/host cmd/internal/exit cmd/internal/show cmd/internal/site internal/agent internal/document"},                                                                                                                                                                                                                                                                  // what people ask of the CLIs, out of the package of the commands
	{12, "cmd/internal/mail", "cmd/internal/console cmd/internal/exit cmd/internal/monitor/paint cmd/internal/site internal/document orchestrator orchestrator/folder orchestrator/session orchestrator/watch workflows/message"},                                                                                                                                                                      // reads messages wherever they lie, and writes nothing
	{14, "cmd/internal/team", "bot/project bot/request cmd/internal/console cmd/internal/exit cmd/internal/hostlog cmd/internal/site ghsync internal/document internal/sanitize orchestrator/session workflows/agents bot/host bot/roster cmd/internal/hosting cmd/internal/monitor/paint cmd/internal/steer internal/durable orchestrator orchestrator/command orchestrator/post orchestrator/story"}, // the file with questions of its own, and its runs, which are steered as any session; what waits for its agents
	{12, "cmd/internal/hosting", "bot/bundle bot/checkpoint bot/claim bot/ear bot/host bot/journal bot/project bot/request bot/tenure ghsync ghsync/feedback cmd/internal/console cmd/internal/exit cmd/internal/hostlog" +
		" cmd/internal/monitor/paint cmd/internal/outcome cmd/internal/show cmd/internal/site internal/shield orchestrator orchestrator/session orchestrator/session/register" +
		" orchestrator/story tmux"}, // says how a session ended when its host has; claims the issue, hears its comments, asks whether its pull request is open
	{11, "cmd/internal/outcome", "ghsync internal/durable orchestrator orchestrator/session orchestrator/story"}, // below the hosts of commands and of jobs, which leave it
	{11, "cmd/internal/show", "bot/admission bot/rehearsal bot/claim bot/config bot/host bot/work bot/project cmd/internal/console cmd/internal/exit cmd/internal/monitor/paint cmd/internal/site ghsync/mirror" +
		" internal/agent internal/agent/cooldown internal/document internal/gitrepo orchestrator orchestrator/session orchestrator/story workflows workflows/agents workflows/artifact"}, // words and JSON of what they know
	{11, "cmd/internal/doctor", "bot/account bot/config bot/host bot/project bot/place cmd/internal/console cmd/internal/exit cmd/internal/monitor/paint cmd/internal/site ghsync ghsync/installation ghsync/sight ghsync/transport" +
		" bot/admission bot/intake bot/request internal/agent internal/agent/cooldown internal/document internal/gitrepo internal/gitrepo/remote internal/gitrepo/clone internal/shield orchestrator/session tmux workflows"}, // probes each of them as a run uses it
	{10, "cmd/internal/site", "bot/account bot/admission bot/bell bot/config bot/host bot/project bot/place bot/ticket cmd/internal/console cmd/internal/exit cmd/internal/hostlog ghsync ghsync/sight ghsync/transport workflows/agents" +
		" internal/agent internal/document internal/gitrepo internal/gitrepo/remote internal/gitrepo/clone orchestrator orchestrator/session tmux"}, // joins a project with its account and a host; says what is wrong with them; finds sessions and tickets of the bot
	{9, "cmd/internal/hostlog", "cmd/internal/console orchestrator/session"},                                     // tells the person warnings, and appends to the session's log
	{7, "bot/account", "bot/config ghsync ghsync/installation ghsync/namesake ghsync/transport internal/redact"}, // below the host, which acts as what it names
	{8, "cmd/internal/console", "cmd/internal/exit cmd/internal/monitor/paint internal/redact"},                  // an unanswered question ends with an exit code
	{0, "cmd/internal/pages", ""}, // text and files: the commands, which cobra has, are told to it
	{7, "cmd/internal/exit", "orchestrator/session orchestrator/session/register"},           // errors of the session have codes of their own
	{9, "cmd/internal/play", "orchestrator/mcp internal/document"},                           // a playbook is a document, its calls go through the tool server
	{9, "cmd/internal/demo", "internal/document ghsync/fakehub tmux"},                        // drives the built program from outside, against a GitHub in a process of its own; ends the tmux servers that an interrupted bot leaves
	{8, "bot/request", "bot/gate ghsync ghsync/transport orchestrator orchestrator/session"}, // below the host, which prepares what it judged; the rules are those of the gate
	{9, "bot/ear", "bot/config bot/gate bot/journal ghsync ghsync/mirror ghsync/transport internal/crash internal/document internal/sanitize" +
		" orchestrator orchestrator/command orchestrator/duty orchestrator/session orchestrator/story workflows"}, // beside the host, which it does not know: who runs sessions is its owner
	{8, "bot/journal", "bot/gate internal/durable"},                                                                   // what the gate decided is remembered in its words
	{7, "bot/gate", "bot/config ghsync ghsync/markdown ghsync/transport internal/document internal/redact workflows"}, // pure: it judges readings of ghsync, says what is wrong with documents, and renders one comment
	{8, "bot/follow", "bot/config bot/due bot/gate ghsync ghsync/feedback ghsync/joblog ghsync/transport internal/crash internal/redact internal/sanitize orchestrator orchestrator/session orchestrator/story"}, // beside the ear: from what is said of a pull request to one command; who runs sessions is its owner
	{7, "ghsync/dispatch", "ghsync"},                               // apart from ghsync: only the sweep of a job may start workflows
	{2, "ghsync/namesake", "ghsync/transport"},                     // below the client, as its connection: what it sees are requests
	{7, "ghsync/sight", "ghsync ghsync/transport internal/redact"}, // apart from ghsync: nothing of a session needs it
	{9, "cmd/internal/monitor", "orchestrator/session orchestrator/story orchestrator workflows/agents cmd/internal/monitor/paint"},
	{6, "bot/claim/claimtest", "bot/claim"}, // a server's claims in memory, for the tests of all who decide by claims
	{10, "bot/recall", "ghsync/origin bot/again bot/checkpoint bot/claim bot/config bot/ear bot/follow bot/gate bot/host bot/journal bot/orphan bot/project ghsync ghsync/feedback ghsync/transport internal/sanitize orchestrator orchestrator/command orchestrator/session"}, // above the orphans, which a claim tells of: what no host has is told by its comment
	{10, "bot/tenure", "bot/checkpoint bot/claim bot/host ghsync ghsync/transport internal/crash internal/durable orchestrator orchestrator/duty orchestrator/session"},                                                                                                        // above the host, which is run by it, and the claims, which know no session
	{9, "bot/again", "bot/gate bot/journal ghsync internal/crash orchestrator orchestrator/command orchestrator/session"},                                                                                                                                                      // between the gate, which knows no session, and the bot, which runs it
	{9, "bot/orphan", "bot/claim bot/gate bot/journal bot/ticket ghsync ghsync/transport orchestrator orchestrator/session"},                                                                                                                                                   // between claims, which know no request, and the gate, which knows no claim of another host
	{10, "bot/upkeep", "bot/inbox bot/claim bot/config bot/host bot/work ghsync/mirror orchestrator orchestrator/session"},                                                                                                                                                     // above the host, which removes: it says what may go
	{9, "bot/refusal", "bot/gate bot/journal ghsync ghsync/markdown ghsync/transport internal/crash internal/redact"},                                                                                                                                                          // the gate decides, this tells: apart from what is done with requests that pass
	{6, "bot/inbox", "orchestrator orchestrator/session"},                      // files of a session alone, so that bot, host and commands read them alike
	{9, "bot/queue", "bot/config bot/gate bot/ticket ghsync/mirror/comment"},   // slots and turns alone: what begins with a slot it does not know
	{8, "bot/ticket", "bot/gate ghsync internal/durable orchestrator/session"}, // a request in the words of the gate, by the name of a session
	{9, "bot/host", "bot/display bot/handover bot/material bot/notice orchestrator/story bot/inbox bot/checkpoint bot/claim bot/restore bot/crew bot/work bot/rehearsal bot/project bot/place bot/config ghsync ghsync/pulltext ghsync/mirror ghsync/transport tmux orchestrator/decide orchestrator/duty orchestrator/engine" +
		" orchestrator/session orchestrator/session/register orchestrator/watch orchestrator workflows workflows/prompt internal/agent internal/agent/process internal/gitrepo internal/gitrepo/remote internal/gitrepo/workspace internal/gitrepo/clone internal/redact bot/roster workflows/agents workflows/message" +
		" internal/crash internal/shield"}, // hands on the Problems of providers; it parses nothing itself
	{3, "bot/crew/heard", "internal/agent internal/agent/signal orchestrator"},                      // files of launches alone
	{4, "bot/crew/keys", "internal/agent internal/agent/signal internal/durable orchestrator tmux"}, // between the panes and those that type there
	{3, "bot/crew/grant", "internal/agent internal/redact"},                                         // variables alone: whom to ask it is told
	{8, "bot/crew", "bot/crew/grant bot/crew/heard bot/crew/keys bot/assignment bot/chore bot/transcript bot/project bot/place bot/config tmux orchestrator/decide/dialog orchestrator/decide/substitute orchestrator/duty orchestrator/engine orchestrator/post orchestrator/session orchestrator/story orchestrator/toolset orchestrator" +
		" workflows workflows/agents workflows/artifact workflows/prompt internal/agent internal/agent/cooldown internal/agent/process internal/agent/signal internal/command internal/crash internal/redact internal/usage"}, // no git: what it needs of the work it declares
	{8, "bot/work", "bot/checkpoint bot/guarded bot/lineage bot/material bot/project bot/spares bot/place bot/config ghsync ghsync/pulltext ghsync/transport ghsync/markdown orchestrator/decide orchestrator/duty orchestrator/engine orchestrator/session orchestrator/session/register" +
		" orchestrator workflows workflows/agents workflows/artifact internal/gitrepo internal/gitrepo/remote internal/gitrepo/workspace internal/gitrepo/clone internal/outgate internal/crash internal/redact"}, // no panes, no programs of agents
	{8, "bot/roster", "bot/project internal/document internal/durable internal/gitrepo internal/gitrepo/clone internal/gitrepo/workspace orchestrator/duty orchestrator/session orchestrator/session/register orchestrator/team orchestrator workflows/agents workflows/message"}, // what only a run of an agents file has: the host, which runs every session, calls it
	{6, "bot/lineage", "internal/gitrepo internal/gitrepo/remote orchestrator"},                                                                // it is told what the output gate finds: records and commits alone
	{8, "bot/handover", "bot/place ghsync/transport internal/gitrepo orchestrator/decide orchestrator/duty orchestrator/session orchestrator"}, // the last checkpoint of a host, and its record
	{7, "bot/guarded", "ghsync"},                                        // apart from the work: what it asks first is told to it
	{3, "bot/notice", "internal/command orchestrator workflows/agents"}, // a desktop, and two states to compare: no session, no pane
	{8, "bot/display", "ghsync/mirror ghsync/transport orchestrator"},   // mirrors run beside an engine, which knows none of them
	{8, "bot/rehearsal", "ghsync ghsync/markdown ghsync/mirror ghsync/transport orchestrator/decide orchestrator/duty orchestrator/session orchestrator/toolset orchestrator workflows workflows/artifact"}, // what a true run would do it is told through an interface
	{7, "bot/material", "workflows/prompt bot/place ghsync orchestrator/duty orchestrator/engine orchestrator/session orchestrator/story orchestrator workflows workflows/artifact" +
		" internal/gitrepo"}, // its errors say to the engine what no repetition can change, as those of crew and work do
	{8, "bot/restore", "bot/checkpoint bot/claim orchestrator orchestrator/duty orchestrator/session internal/gitrepo internal/durable internal/crash workflows workflows/agents"},                                                                     // a session from what another machine handed over: above the checkpoint, which knows no session, and below the host, which runs what it makes
	{7, "bot/checkpoint", "internal/durable internal/gitrepo internal/gitrepo/remote internal/outgate internal/redact internal/crash"},                                                                                                                 // what machines hand to each other, apart from the work it is made of: made by work, read by host
	{7, "bot/assignment", "orchestrator orchestrator/duty orchestrator/post workflows workflows/agents"},                                                                                                                                               // a text from values: the crew, which asks for it, holds the files and panes
	{7, "bot/spares", "orchestrator/duty orchestrator workflows internal/gitrepo internal/gitrepo/spare internal/gitrepo/workspace internal/crash"},                                                                                                    // apart from the work: what is no part of the state, and may be gone at any time
	{7, "bot/project", "bot/config ghsync ghsync/transport internal/durable orchestrator/session internal/agent/settings internal/gitrepo internal/gitrepo/remote internal/gitrepo/clone internal/gitrepo/workspace internal/document internal/crash"}, // says what workspaces of it will lack
	{1, "bot/intake/delivery", ""}, // bytes alone
	{7, "bot/intake", "bot/intake/delivery ghsync ghsync/transport internal/redact internal/turnstile"}, // what may have changed on GitHub: it decides nothing, so it knows neither gate nor journal
	{5, "bot/claim", "internal/gitrepo internal/gitrepo/remote internal/durable internal/crash"},        // who holds an issue, told by git refs or by locks: no session, pane or API, so that daemon, command and job claim alike
	{6, "bot/bundle", "bot/claim"},                                        // several claims as one: whose issues they are it is told
	{6, "bot/place", "orchestrator/session orchestrator internal/shield"}, // the agents and the work of a session go by the same names
	{7, "bot/chore", "bot/transcript internal/agent/process internal/command internal/redact orchestrator/engine orchestrator/session"}, // apart from the crew: no agent, no pane
	{6, "bot/transcript", "orchestrator/session internal/shield internal/redact"},                                                       // apart from the crew: the process behind a pane runs one half of it
	{7, "ghsync/mirror", "ghsync/mirror/comment orchestrator/duty ghsync ghsync/transport ghsync/markdown orchestrator/session orchestrator/story orchestrator internal/durable internal/redact"},
	{6, "ghsync/mirror/comment", "ghsync/markdown orchestrator/story orchestrator"}, // pure: what the mirror says, apart from how it gets there
	{7, "orchestrator/mcp", "orchestrator/tools orchestrator/toolset"},
	{6, "orchestrator/engine", "orchestrator/decide orchestrator/duty orchestrator/post orchestrator/postbox orchestrator/session orchestrator/team orchestrator workflows workflows/artifact workflows/message internal/crash"},
	{6, "orchestrator/tools", "orchestrator/duty orchestrator/post orchestrator/postbox orchestrator/session orchestrator/toolset orchestrator workflows workflows/artifact workflows/message"},
	{6, "orchestrator/command", "orchestrator/decide orchestrator/duty orchestrator/session orchestrator/story orchestrator"}, // of the terminal and of comments alike
	{7, "ghsync/pulltext", "ghsync ghsync/markdown orchestrator/story"},                                                       // pure: what a pull request says, apart from how it is opened
	{7, "ghsync/origin", "ghsync internal/sanitize"},                                                                          // apart from what a session needs: it is asked of pull requests of others, too
	{7, "ghsync/feedback", "ghsync internal/sanitize"},                                                                        // reads of one caller, apart from what every session needs of GitHub
	{6, "ghsync", "ghsync/joblog ghsync/transport ghsync/transport/thing ghsync/markdown internal/redact internal/sanitize internal/crash"},
	{6, "orchestrator/session/register", "orchestrator/session orchestrator internal/agent/process internal/durable"}, // of all projects of a machine, while a session knows itself alone; a process that was killed reserves nothing
	{5, "orchestrator/session", "orchestrator/seal orchestrator/decide orchestrator/duty orchestrator/invariant orchestrator/replay orchestrator/toolset orchestrator/upgrade orchestrator workflows workflows/artifact internal/durable internal/crash"},
	{5, "orchestrator/story", "internal/usage orchestrator workflows/agents"},                 // one place says why, what is owed and what is next; status, monitor and mirror read it
	{3, "orchestrator/decide/fault", "orchestrator"},                                          // apart from the reducer: records compared with records, no state
	{3, "orchestrator/decide/ending", "orchestrator"},                                         // as fault: reports in words
	{3, "orchestrator/decide/dialog", "orchestrator"},                                         // reports judged, apart from what is done
	{3, "orchestrator/decide/pause", "orchestrator"},                                          // what a pause holds up, and how long it was
	{3, "orchestrator/decide/retry", "orchestrator"},                                          // numbers alone: how often, and how long between
	{3, "orchestrator/decide/substitute", "orchestrator"},                                     // the crew asks it, too, before it holds a start back
	{3, "orchestrator/postbox", "internal/durable orchestrator workflows/message"},            // files alone: the writer is a tool, the reader the engine
	{3, "orchestrator/post", "orchestrator orchestrator/toolset workflows workflows/message"}, // as team: what becomes of a message is decided apart from the phases, and tools ask who has mail
	{4, "orchestrator/decide", "internal/lenient orchestrator/decide/dialog orchestrator/decide/ending orchestrator/decide/fault orchestrator/decide/pause orchestrator/decide/retry orchestrator/decide/substitute orchestrator/post orchestrator/team orchestrator/duty orchestrator/invariant orchestrator/move orchestrator/toolset orchestrator/upgrade orchestrator workflows workflows/agents workflows/artifact"}, // the session creates and mends states by the rules of the engine, so it stands above
	{3, "orchestrator/upgrade", "orchestrator workflows workflows/artifact"},
	{3, "orchestrator/invariant", "orchestrator workflows"},
	{3, "orchestrator/replay", "orchestrator"},                                                                  // records alone, whatever files they come from
	{4, "orchestrator/folder", "orchestrator orchestrator/post orchestrator/postbox workflows/message"},         // files alone, with what the state says of them: a directory outside of every session has them, too
	{3, "orchestrator/move", "orchestrator"},                                                                    // where things are, apart from what is done next
	{3, "orchestrator/duty", "orchestrator/toolset orchestrator workflows workflows/artifact workflows/agents"}, // below the reducer: tools and host judge by the same names and rules
	{2, "orchestrator", "orchestrator/seal orchestrator/stamp workflows workflows/artifact internal/lenient internal/usage workflows/agents workflows/message"},
	{3, "orchestrator/team", "orchestrator workflows workflows/agents"}, // apart from the reducer, whose sizes may only fall: what becomes of an agent of an agents file is one table
	{0, "internal/lenient", ""},
	{0, "internal/usage", ""},                    // figures and words: it knows no program that tells them
	{1, "orchestrator/seal", "internal/lenient"}, // of bytes, whatever they say
	{0, "orchestrator/stamp", ""},                // below all that has a moment in a file
	{3, "bot/config", "workflows workflows/message internal/agent internal/document"},
	{2, "orchestrator/toolset", "workflows workflows/artifact workflows/message"},                   // below duty, which judges calls by the table; a row knows definitions and no state
	{2, "internal/outgate", "internal/gitrepo internal/redact internal/sanitize internal/document"}, // sanitize folds names that look alike; the table of paths is a document
	{2, "ghsync/joblog", "ghsync/transport"},                                                        // apart from transport: what speaks with another host has no way to a token
	{2, "ghsync/installation", "ghsync/transport internal/redact"},                                  // of an App: the transport keeps its tokens, and knows no key
	{0, "ghsync/transport/thing", ""},                                                               // words alone: below the transport, which tells what is missing, and beside the client
	{0, "ghsync/transport/answers", ""},                                                             // a bounded store: below the transport, which says what is worth keeping
	{1, "ghsync/transport", "ghsync/transport/answers ghsync/transport/thing internal/pace internal/ratelimit internal/redact internal/skew internal/turnstile"}, // knows addresses and tokens, and nothing of issues
	{1, "ghsync/markdown", "internal/redact internal/sanitize"},             // of the mirror and of the pull request; a commit's message is made harmless by it, too
	{1, "workflows/artifact", "workflows internal/document"},                // above the definitions: a review is of a role, the context shows the phases
	{0, "workflows", "workflows/agents workflows/prompt internal/document"}, // a definition is checked with the prompts it names, and may carry a team
	{-1, "workflows/prompt", "internal/document"},
	{-1, "workflows/message", "internal/document"},                                                 // beside agents: a message is read alike in a session and in a directory of files alone
	{-1, "workflows/agents", "internal/document"},                                                  // below the definitions: one of kind agents carries a team
	{3, "internal/agent/agentexec", "internal/agent internal/agent/process internal/agent/signal"}, // apart: its process outlives the host, and nothing else of it is needed there
	{2, "internal/agent", "internal/agent/process internal/agent/settings internal/agent/signal internal/document internal/durable internal/shield internal/command internal/usage"},
	{1, "internal/agent/settings", "internal/durable"},              // the documents of the programs, in their forms
	{1, "internal/agent/signal", "internal/durable internal/usage"}, // what programs say of themselves, and one file
	{1, "internal/agent/cooldown", "internal/durable"},              // files and times alone: it knows no provider
	{1, "internal/agent/process", "internal/shield"},                // finds launches by what their processes carry, and knows no file of theirs
	{2, "internal/gitrepo/clone", "internal/gitrepo internal/gitrepo/git internal/crash"},
	{2, "internal/gitrepo/remote", "internal/gitrepo internal/gitrepo/git internal/shield"},                                                  // has git hold the password where no other process looks
	{3, "internal/gitrepo/spare", "internal/gitrepo internal/gitrepo/git internal/gitrepo/object internal/gitrepo/workspace internal/crash"}, // above workspace: it gives whole ones away
	{2, "internal/gitrepo/workspace", "internal/gitrepo internal/gitrepo/git internal/gitrepo/object internal/crash"},
	{1, "internal/gitrepo", "internal/durable internal/crash internal/gitrepo/git internal/gitrepo/object internal/gitrepo/ref"},
	{0, "internal/gitrepo/ref", "internal/durable internal/crash internal/gitrepo/git internal/gitrepo/object"}, // apart from the store: a ref is moved under git's own lock, and that is a subject of its own
	{-1, "internal/gitrepo/object", "internal/crash"},                                                           // beside git: what git keeps, read and written without it
	{-1, "internal/gitrepo/git", "internal/crash internal/command"},                                             // one call of git, below all that make them
	{-2, "internal/document", ""}, // below the templates of prompts, whose problems it words
	{-1, "internal/durable", "internal/crash"},
	{1, "internal/durable/powertest", "internal/durable"}, // the disk whose power is cut, for the tests of all who write through durable
	{0, "internal/redact", ""},
	{0, "internal/footprint", ""}, // the memory of a process that lives long: the system is asked for it here alone
	{0, "internal/skew", ""},      // what time it is at a server, for all that is as old as its clock says
	{0, "internal/ratelimit", ""}, // what GitHub says of its limits: pure, so that each way of saying it is a line of a table
	{0, "internal/pace", ""},      // beside the transport, whose calls wait by it: a rate alone, and its parts
	{0, "internal/turnstile", ""}, // who waits is let in by rank: requests in the transport, pollers in the intake
	{0, "internal/shield", ""},    // below agent and host: both sides of what goes over a socket
	{0, "internal/sanitize", ""},
	{0, "cmd/internal/monitor/paint", ""}, // apart, so that it is initialised before bubbletea
	{0, "tmux", "internal/crash internal/command"},
	{0, "orchestrator/watch", ""},
	{-2, "internal/command", ""}, // below all that start programs, so that a sandbox can stand there
	{-2, "internal/crash", ""},   // below all, because every package that changes something outside marks where a kill is tried
	{0, "ghsync/fakehub", "ghsync/fakehub/ban ghsync/fakehub/bare ghsync/fakehub/graphql ghsync/fakehub/hook ghsync/fakehub/jwt ghsync/fakehub/paging ghsync/fakehub/pattern ghsync/fakehub/query ghsync/fakehub/run ghsync/fakehub/session"},
	{-1, "ghsync/fakehub/ban", ""},     // what no client of ours may ask, whatever the fake answers
	{-1, "ghsync/fakehub/bare", ""},    // the git side of the fake
	{-1, "ghsync/fakehub/graphql", ""}, // what GraphQL is, apart from what GitHub is
	{-1, "ghsync/fakehub/hook", ""},    // deliveries on their way
	{-1, "ghsync/fakehub/front", ""},   // before any server: it knows handlers alone
	{-1, "ghsync/fakehub/hostile", ""}, // what no true server answers: below clients, and not a part of the fake
	{-1, "ghsync/fakehub/paging", ""},  // pages of lists, and the links between them
	{-1, "ghsync/fakehub/pattern", ""}, // which line of a table of resources a path is of
	{-1, "ghsync/fakehub/run", ""},     // runs of workflows
	{-1, "ghsync/fakehub/query", ""},   // the language of searches
	{-1, "ghsync/fakehub/jwt", ""},     // what an App signs, apart from what it may do
	{-1, "ghsync/fakehub/runlog", ""},  // what a runner hears in the log of a job: one reader for the tests of the job and of the command
	{-1, "ghsync/fakehub/session", ""}, // what a session's files say, read without the code that writes them
	{10, "docs", ""},                   // tests alone: the documents against the code
	{0, "internal/agent/modeltest", ""},
	{0, "internal/scale", ""}, // numbers alone, for the page and its test
	{0, "internal/testexit", ""},
	{0, "internal/testfull", ""},
	{0, "internal/testplain", "internal/command"}, // starts the go command
	{3, "internal/gitrepo/repotest", "internal/gitrepo internal/gitrepo/workspace"}, // above both, whose tests it serves
}

// forTests names the packages of the table that only test files import, and who else.
var forTests = map[string]string{
	"ghsync/fakehub":             "cmd/internal/demo", // the demonstration's GitHub
	"bot/claim/claimtest":        "",
	"ghsync/fakehub/ban":         "ghsync/fakehub",
	"ghsync/fakehub/bare":        "ghsync/fakehub",
	"ghsync/fakehub/graphql":     "ghsync/fakehub",
	"ghsync/fakehub/hook":        "ghsync/fakehub",
	"ghsync/fakehub/front":       "",
	"ghsync/fakehub/hostile":     "",
	"ghsync/fakehub/query":       "ghsync/fakehub",
	"ghsync/fakehub/run":         "ghsync/fakehub",
	"ghsync/fakehub/paging":      "ghsync/fakehub",
	"ghsync/fakehub/pattern":     "ghsync/fakehub",
	"ghsync/fakehub/jwt":         "ghsync/fakehub",
	"ghsync/fakehub/session":     "ghsync/fakehub",
	"ghsync/fakehub/runlog":      "",
	"internal/agent/modeltest":   "",
	"internal/durable/powertest": "",
	"internal/gitrepo/repotest":  "",
	"internal/scale":             "",
	"internal/testexit":          "",
	"internal/testfull":          "",
	"internal/testplain":         "",
	"docs":                       "", // has no other files
}

// owners names the one package that imports a third-party module. Test files may import
// any of these modules, and no other.
var owners = map[string]string{
	"github.com/VictoriaMetrics/metrics":     "bot/metrics",
	"github.com/spf13/cobra":                 "cmd/agentmux",
	"github.com/spf13/pflag":                 "cmd/agentmux", // cobra's flags: the types of their errors
	"github.com/cli/go-gh/v2":                "cmd/agentmux",
	"github.com/modelcontextprotocol/go-sdk": "orchestrator/mcp",
	"github.com/google/go-github/v62":        "ghsync",
	"github.com/golang-jwt/jwt/v5":           "ghsync/installation",
	"golang.org/x/oauth2":                    "ghsync/transport",
	"golang.org/x/time":                      "internal/pace",
	"github.com/charmbracelet/bubbletea":     "cmd/internal/monitor",
	"github.com/charmbracelet/lipgloss":      "cmd/internal/monitor/paint",
	"github.com/charmbracelet/x/term":        "cmd/internal/monitor/paint", // what a terminal is, and how wide
	"github.com/charmbracelet/x/ansi":        "bot/transcript",             // what is text of what a terminal is sent
	"github.com/fsnotify/fsnotify":           "orchestrator/watch",
	"gopkg.in/yaml.v3":                       "internal/document",
	"golang.org/x/text":                      "internal/sanitize",
	"golang.org/x/sys":                       "internal/gitrepo/workspace",
	"github.com/rogpeppe/go-internal":        "", // txtar and testscript: test files only
	"github.com/getkin/kin-openapi":          "", // GitHub's description of its REST interface: test files only
	"github.com/vektah/gqlparser/v2":         "ghsync/fakehub/graphql",
	"github.com/yuin/goldmark":               "", // how GitHub shows what we write: test files only
}

// programs names who may start a program whose mistakes are costly to find twice.
var programs = map[string][]string{
	"tmux": {"tmux"},
	"git":  {"internal/gitrepo/git", "ghsync/fakehub/bare", "cmd/internal/demo", "internal/gitrepo/repotest"}, // all but the first are another side's git
}

// starters are the packages that start programs themselves. Whoever waits for an answer goes
// through internal/command; these hand over a terminal, leave a program behind or speak with
// one that goes on, and the last ones are another side's.
var starters = []string{
	"internal/command", "cmd/agentmux", "cmd/internal/console", "cmd/internal/hosting", "orchestrator/mcp", "internal/agent/process", "internal/shield",
	"cmd/internal/play", "cmd/internal/providers", "cmd/internal/demo", "ghsync/fakehub/bare", "internal/agent/modeltest", "internal/gitrepo/repotest",
}

// top is what may lie at the root besides names with a leading dot.
var top = []string{
	"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md",
	"action.yml", "bin", "bot", "cmd", "docs", "ghsync", "go.mod", "go.sum", "internal", "layout_test.go",
	"orchestrator", "tmux", "workflows",
}

// oversize are the types and packages above the limit, with their figures. A figure may only
// fall: a change that makes one smaller by more than a twentieth writes the new one here, and
// within the limit the line goes.
var oversize = map[string]int{
	"orchestrator/decide.reducer":  92,
	"orchestrator/session.Session": 75,
	"ghsync":                       2885,
	"ghsync/fakehub":               6678,
	"orchestrator/decide":          4711,
	"orchestrator/session":         3766,
}

const (
	maxFileLines  = 500
	maxFuncLines  = 80
	maxParameters = 5 // besides the context
	maxMethods    = 7

	maxTypeMethods  = 40
	maxPackageLines = 2500
)

func TestLayout(t *testing.T) {
	problems, err := inspect(os.DirFS("."), oversize)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// TestLayoutSeesBreaks holds the checks themselves: each small tree breaks one rule.
func TestLayoutSeesBreaks(t *testing.T) {
	ours := func(pkg string) string { return "import _ \"" + module + pkg + "\"\n" }
	long := strings.Repeat("\n", maxFileLines)
	for name, c := range map[string]struct{ file, text, want string }{
		"upward import":           {"tmux/a.go", ours("ghsync"), "tmux may not import ghsync"},
		"import between siblings": {"orchestrator/tools/a.go", ours("orchestrator/engine"), "orchestrator/tools may not import orchestrator/engine"},
		"unknown package":         {"internal/util/a.go", "", "internal/util is not in the table"},
		"unknown package of ours": {"cmd/agentmux/a.go", ours("internal/util"), "cmd/agentmux may not import internal/util"},
		"package of tests":        {"cmd/agentmux/a.go", ours("ghsync/fakehub"), "ghsync/fakehub is for tests"},
		"second importer":         {"ghsync/a.go", "import _ \"gopkg.in/yaml.v3\"\n", "gopkg.in/yaml.v3 belongs to internal/document"},
		"module of tests":         {"ghsync/a.go", "import _ \"github.com/rogpeppe/go-internal/txtar\"\n", "only test files import github.com/rogpeppe/go-internal"},
		"unknown module":          {"ghsync/a_test.go", "import _ \"example.com/x\"\n", "example.com/x has no owner"},
		"top level":               {"notes.txt", "", "notes.txt does not belong at the top level"},
		"a shell":                 {"cmd/agentmux/a.go", "import \"os/exec\"\nvar _ = exec.Command(\"/bin/sh\", \"-c\")\n", "starts a shell"},
		"tmux elsewhere":          {"cmd/agentmux/a.go", "import \"os/exec\"\nvar _ = exec.CommandContext(nil, \"tmux\")\n", "starts tmux"},
		"a program":               {"bot/a.go", "import \"os/exec\"\nvar _ = exec.Command(\"true\")\n", "starts programs itself"},
		"git by argv":             {"bot/a.go", "import \"os/exec\"\nvar argv = []string{\"git\", \"log\"}\nvar _ = exec.Cmd{}\n", "starts git"},
		"long file":               {"bot/a.go", long, "lines, at most"},
		"long function":           {"bot/a.go", "func f() {" + strings.Repeat("\n", maxFuncLines) + "}\n", "f has"},
		"many parameters":         {"bot/a.go", "func f(a, b, c, d, e, g int) {}\n", "f takes 6"},
		"wide interface":          {"bot/a.go", "type i interface{ A(); B(); C(); D(); E(); F(); G(); H() }\n", "interface of 8"},
		"init":                    {"bot/a.go", "func init() {}\n", "init"},
		"sleep":                   {"bot/a.go", "import \"time\"\nfunc f() { time.Sleep(1) }\n", "time.Sleep"},
		"many methods":            {"bot/a.go", "type t int\n" + methods(maxTypeMethods+1), "bot.t has 41 methods"},
		"words of an error":       {"bot/a.go", "import \"strings\"\nfunc f(err error) bool { return strings.Contains(err.Error(), \"x\") }\n", "words of an error"},
		"words of a reason":       {"bot/a.go", "import \"strings\"\nfunc f(s struct{ Reason string }) bool { return strings.HasPrefix(s.Reason, \"x\") }\n", "words of a reason"},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.text
			if strings.HasSuffix(c.file, ".go") {
				text = "package x\n" + text
			}
			tree := fstest.MapFS{c.file: {Data: []byte(text)}, "go.mod": {Data: goMod(t)}}
			problems, err := inspect(tree, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) != 1 || !strings.Contains(problems[0], c.want) {
				t.Errorf("problems %q, want one with %q", problems, c.want)
			}
		})
	}
}

// TestSizesOnlyFall holds the figures of oversize against the source.
func TestSizesOnlyFall(t *testing.T) {
	for name, c := range map[string]struct {
		is, was int
		want    string
	}{
		"within the limit":         {40, 0, ""},
		"above the limit":          {41, 0, "x has 41 methods, at most 40"},
		"as large as it was":       {50, 50, ""},
		"larger than it was":       {51, 50, "x has 51 methods, 50 before: its figure may only fall"},
		"a little smaller":         {48, 50, ""},
		"smaller than it was":      {47, 50, "x has 47 methods, oversize says 50: write 47 there"},
		"no longer above":          {40, 50, "x has 40 methods and needs no line in oversize"},
		"gone and still in a line": {0, 50, "x has 0 methods and needs no line in oversize"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sized("x", "methods", c.is, c.was, maxTypeMethods); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	want := []string{"oversize has bot.gone, which is not there"}
	if got := newNouns().problems(map[string]int{"bot.gone": 50}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func methods(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "func (x *t) m%d() {}\n", i)
	}
	return b.String()
}

// What is below internal/ knows no session.
func TestInternalKnowsNoSession(t *testing.T) {
	for _, r := range table {
		if !strings.HasPrefix(r.name, "internal/") {
			continue
		}
		for imported := range strings.FieldsSeq(r.imports) {
			if wing, _, _ := strings.Cut(imported, "/"); slices.Contains([]string{"orchestrator", "ghsync", "bot", "cmd"}, wing) {
				t.Errorf("%s may not import %s", r.name, imported)
			}
		}
	}
}

func TestArchitectureHasTheFloors(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, r := range table {
		_, tests := forTests[r.name]
		if files, _ := fs.Glob(os.DirFS("."), r.name+"/*.go"); len(files) == 0 || tests {
			continue // not made yet, or for tests
		}
		floor, name := fmt.Sprintf("| %d | ", r.floor), "`"+r.name+"`"
		has := func(line string) bool { return strings.HasPrefix(line, floor) && strings.Contains(line, name) }
		if !slices.ContainsFunc(lines, has) {
			t.Errorf("the floors lack %s on floor %d", r.name, r.floor)
		}
	}
}

func goMod(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// inspect returns what breaks the layout, each with its place; oversize are the sizes that are
// known to be above the limit.
func inspect(fsys fs.FS, oversize map[string]int) ([]string, error) {
	problems, err := modules(fsys)
	if err != nil {
		return nil, err
	}
	n := newNouns()
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.Contains(name, "/") && !strings.HasPrefix(name, ".") && !slices.Contains(top, name):
			problems = append(problems, name+" does not belong at the top level")
		}
		if d.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		found, err := source(fsys, name, n)
		problems = append(problems, found...)
		return err
	})
	return append(problems, n.problems(oversize)...), err
}

// nouns are the sizes of what stands for one thing: the methods of a type, by package and
// name, and the lines of a package. Test files do not count.
type nouns struct{ methods, lines map[string]int }

func newNouns() nouns { return nouns{methods: map[string]int{}, lines: map[string]int{}} }

// count adds a file.
func (n nouns) count(f *file) {
	n.lines[f.pkg] += f.set.File(f.ast.Pos()).LineCount()
	for _, decl := range f.ast.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && d.Recv != nil {
			n.methods[f.pkg+"."+receiver(d.Recv.List[0].Type)]++
		}
	}
}

// receiver is the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func (n nouns) problems(oversize map[string]int) []string {
	var problems []string
	for _, kind := range []struct {
		what   string
		counts map[string]int
		limit  int
	}{{"methods", n.methods, maxTypeMethods}, {"lines", n.lines, maxPackageLines}} {
		for _, name := range slices.Sorted(maps.Keys(kind.counts)) {
			if p := sized(name, kind.what, kind.counts[name], oversize[name], kind.limit); p != "" {
				problems = append(problems, p)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(oversize)) {
		if n.methods[name] == 0 && n.lines[name] == 0 {
			problems = append(problems, "oversize has "+name+", which is not there")
		}
	}
	return problems
}

// sized judges one figure against its limit and its line in oversize, 0 without one.
func sized(name, what string, is, was, limit int) string {
	switch {
	case was == 0 && is > limit:
		return fmt.Sprintf("%s has %d %s, at most %d", name, is, what, limit)
	case was == 0:
		return ""
	case is <= limit:
		return fmt.Sprintf("%s has %d %s and needs no line in oversize", name, is, what)
	case is > was:
		return fmt.Sprintf("%s has %d %s, %d before: its figure may only fall", name, is, what, was)
	case is < was-was/20:
		return fmt.Sprintf("%s has %d %s, oversize says %d: write %d there", name, is, what, was, is)
	}
	return ""
}

// modules compares the direct requirements of go.mod with the owners.
func modules(fsys fs.FS) (problems []string, err error) {
	data, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	required := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(f) == 2 && strings.HasPrefix(f[1], "v") { // an indirect one has a comment
			required[f[0]] = true
		}
	}
	for m := range required {
		if _, ok := owners[m]; !ok {
			problems = append(problems, "go.mod: "+m+" has no owner")
		}
	}
	for m := range owners {
		if !required[m] {
			problems = append(problems, "go.mod: "+m+" has an owner and is not required")
		}
	}
	return problems, nil
}

// A file is one parsed source file of package pkg.
type file struct {
	pkg      string
	test     bool
	set      *token.FileSet
	ast      *ast.File
	problems []string
}

func source(fsys fs.FS, name string, n nouns) ([]string, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	f := &file{pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: token.NewFileSet()}
	mode := parser.SkipObjectResolution
	if f.test {
		mode = parser.ImportsOnly // the compiler reads the rest
	}
	if f.ast, err = parser.ParseFile(f.set, name, data, mode); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(table, func(r row) bool { return r.name == f.pkg })
	if at < 0 && f.pkg != "." {
		f.report(f.ast.Name, "package %s is not in the table", f.pkg)
	}
	for _, spec := range f.ast.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if own, ok := strings.CutPrefix(imported, module); ok {
			if at >= 0 && !f.test {
				f.own(spec, table[at], own)
			}
		} else if strings.Contains(strings.Split(imported, "/")[0], ".") {
			f.third(spec, imported)
		}
	}
	if !f.test {
		f.shape(f.ast)
		n.count(f)
	}
	return f.problems, nil
}

func (f *file) report(at ast.Node, format string, args ...any) {
	f.problems = append(f.problems, f.set.Position(at.Pos()).String()+": "+fmt.Sprintf(format, args...))
}

// own judges the import of a package of this module.
func (f *file) own(at ast.Node, r row, imported string) {
	below := slices.IndexFunc(table, func(x row) bool { return x.name == imported })
	user, tests := forTests[imported]
	named := r.imports == "*" || slices.Contains(strings.Fields(r.imports), imported)
	switch {
	case below < 0 || !named || table[below].floor >= r.floor:
		f.report(at, "%s may not import %s", r.name, imported)
	case tests && user != r.name:
		f.report(at, "%s is for tests", imported)
	}
}

// third judges the import of another module's package.
func (f *file) third(at ast.Node, imported string) {
	for m, owner := range owners {
		switch {
		case imported != m && !strings.HasPrefix(imported, m+"/"):
			continue
		case f.test || owner == f.pkg:
		case owner == "":
			f.report(at, "only test files import %s", m)
		default:
			f.report(at, "%s belongs to %s", m, owner)
		}
		return
	}
	f.report(at, "%s has no owner", imported)
}

// shape holds the limits of the source and what it may not call.
func (f *file) shape(root *ast.File) {
	if n := f.set.File(root.Pos()).LineCount(); n > maxFileLines {
		f.report(root, "%d lines, at most %d", n, maxFileLines)
	}
	starts := slices.ContainsFunc(root.Imports, func(s *ast.ImportSpec) bool {
		return s.Path.Value == `"os/exec"` || s.Path.Value == strconv.Quote(module+"internal/command")
	})
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			f.function(n)
		case *ast.InterfaceType:
			if c := n.Methods.NumFields(); c > maxMethods {
				f.report(n, "interface of %d methods, at most %d", c, maxMethods)
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name == "Sleep" {
				f.report(n, "time.Sleep: wait with a timer in a select")
			}
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "exec" && strings.HasPrefix(n.Sel.Name, "Command") && !slices.Contains(starters, f.pkg) {
				f.report(n, "%s starts programs itself: internal/command does", f.pkg)
			}
		case *ast.CallExpr:
			f.words(n)
			if starts {
				f.started(n.Args)
			}
		case *ast.CompositeLit:
			if list, ok := n.Type.(*ast.ArrayType); ok && starts && list.Len == nil && len(n.Elts) > 0 {
				f.started(n.Elts[:1])
			}
		}
		return true
	})
}

// words refuses a decision on the words of an error or a reason: both are for people.
func (f *file) words(call *ast.CallExpr) {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 2 {
		return
	}
	if x, ok := fun.X.(*ast.Ident); !ok || x.Name != "strings" || !slices.Contains([]string{"Contains", "HasPrefix", "HasSuffix"}, fun.Sel.Name) {
		return
	}
	switch arg := call.Args[0].(type) {
	case *ast.CallExpr:
		if s, ok := arg.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Error" {
			f.report(call, "a decision on the words of an error")
		}
	case *ast.SelectorExpr:
		if strings.HasSuffix(arg.Sel.Name, "Reason") {
			f.report(call, "a decision on the words of a reason")
		}
	}
}

func (f *file) function(d *ast.FuncDecl) {
	if d.Recv == nil && d.Name.Name == "init" {
		f.report(d, "init: nothing runs before main")
	}
	first, last := f.set.Position(d.Pos()).Line, f.set.Position(d.End()).Line
	if n := last - first + 1; n > maxFuncLines {
		f.report(d, "%s has %d lines, at most %d", d.Name.Name, n, maxFuncLines)
	}
	n := 0
	for _, p := range d.Type.Params.List {
		if s, ok := p.Type.(*ast.SelectorExpr); !ok || s.Sel.Name != "Context" {
			n += max(1, len(p.Names))
		}
	}
	if n > maxParameters {
		f.report(d, "%s takes %d parameters, at most %d", d.Name.Name, n, maxParameters)
	}
}

// started judges the strings of a call or the first of a list, in a file that starts
// processes: no shell, and a program only by its package.
func (f *file) started(args []ast.Expr) {
	for _, arg := range args {
		lit, ok := arg.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			continue
		}
		program, _ := strconv.Unquote(lit.Value)
		program = path.Base(program)
		if program == "sh" || program == "bash" {
			f.report(lit, "%s starts a shell", f.pkg)
		}
		if by, ok := programs[program]; ok && !slices.Contains(by, f.pkg) {
			f.report(lit, "%s starts %s", f.pkg, program)
		}
	}
}
