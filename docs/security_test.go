package docs_test

import "testing"

// securityCases says for each attack what its tests hold. Numbers that are missing belong
// to the sandbox and to what waits for issues by itself.
var securityCases = map[int]string{
	1:  "Only people who may write start work: every role, by label or comment, with every kind of edit.",
	2:  "One label is one session, however often it is seen.",
	3:  "Text that changed after the label, by somebody who may not write, is asked for again before anything starts.",
	4:  "What GitHub hides of a text is gone before an agent reads it, also where it pretends to be code.",
	5:  "Words of people without a say, of bots and of late comers stand in no file of a session.",
	6:  "Nobody of the same user finds a secret of the host in a file or a process, git's included, whichever host has the session; and the password for git is told to git alone.",
	7:  "A secret in any of twenty disguises leaves by no exit; each twelve of its characters count.",
	9:  "Configuration an agent can write runs nothing, and git speaks one transport alone.",
	10: "Nested repositories in every spelling are refused, time and again; ignored ones do not matter.",
	11: "Links, FIFOs and swaps during the walk bring nothing from outside into a tree.",
	12: "Paths that run where they are opened are blocked in each spelling, by renames and links too; masked ones come from the base.",
	13: "Held paths keep the pull request a draft and stand on top of it.",
	14: "Sizes count at the limit and one beyond it; what was large before may grow a little.",
	15: "A title of metacharacters becomes a plain name.",
	16: "Text that was put into a prompt is not scanned for directives.",
	19: "An approval counts for the gate that was open when it was given; what an earlier gate or the program left behind is none; and an agent gives no command of a person.",
	20: "A verdict counts for the tree that it was given for: after a change it is asked for again.",
	21: "What agents and people write cannot speak to a terminal.",
	22: "A webhook passes by its signature alone, with headers, bodies and connections bounded; and what is wrong with the secrets is said at once.",
	23: "The token goes to the API's own origin alone, redirects included.",
	24: "Mentions, references, pictures and forged markers are inert.",
	25: "Each rate holds in a storm of labels, and the comments that say so are few.",
	26: "A command of somebody who may not write starts nothing.",
	27: "A repository sets no key of the host, only tightens gates and limits, and takes no path out of protection. A model that a repository names is never taken for a flag.",
	28: "What a repository tells the CLIs beside instructions is in no workspace when an agent starts, or is the base commit's and allowed.",
	29: "A request that approves or merges fails every test that meets it.",
	30: "A host asks whether its claim is still its own before it writes, unless a beat of the last four minutes says so by both clocks; one that lost it writes nothing more, at no place.",
	32: "A job runs the archive alone whose digest the commit of its action lists.",
	33: "Transcripts and checkpoints hold no secret and leave the session by no commit.",
	34: "An issue of a public repository starts nothing where agents have no sandbox.",
	35: "What a launch gets goes to the process of its pane alone, and no word to a tmux server that may be somebody else's.",
	36: "Settings of the user, the machine or the checkout reach no git call of ours.",
	37: "A checkpoint from the server is refused, with all that is wrong named, unless its names, sizes, kinds and digests are right and it is of the session and the issue that were asked for.",
	38: "What a text in the log of a job says is no command to the runner.",
	40: "The sender of a message is the agent of the launch that wrote it, whatever a parameter, its file or a line of the index says; what was changed afterwards is not delivered.",
	41: "What a file of the repository asks for, no questions for permission or a command after the work, needs the owner's yes, and a link that it brings along is not written through.",
}

// securityAlso are tests that carry a case under another name.
var securityAlso = map[int][]string{
	20: {"orchestrator/decide/park_test.go TestProtocolG5ReadyOnlyForTheTreeThatPassed"},
	41: {"bot/host/teamtest_test.go TestProtocolM7TheTestOfAnAgentNeedsToBeAllowed"},
	4:  {"internal/sanitize/fuzz_test.go FuzzSanitize"},
	13: {"bot/host/github_test.go TestProtocolG7HeldPathsKeepTheDraft", "orchestrator/decide/park_test.go TestProtocolG5ReadyOnlyForTheTreeThatPassed"},
	23: {"ghsync/identity_test.go TestGitHub8NoTokenGoesToAnotherHost", "internal/gitrepo/remote/remote_test.go TestThePasswordIsNotGivenToAnotherHost"},
	30: {"bot/host/guard_test.go TestGitHub79TheGuardIsAskedBeforeWork", "bot/host/guard_test.go TestGitHub79TheLoserOfAClaimStopsAndKeepsTheWork", "ghsync/mirror/guarded_test.go TestGitHub79NoWriteOfTheMirrorFollowsTheLoss"},
	24: {"ghsync/mirror/render_test.go TestGitHub47MirrorWrites", "ghsync/marker_test.go TestGitHub50MarkersAreReadOnlyFromTheLastLine"},
}

// TestSecurityTable holds that each attack has a test and a mutant, and that the page lists
// them all. `make protocol-table` writes the page.
func TestSecurityTable(t *testing.T) {
	numbered{
		page: "security-cases.md", title: "Security cases", prefix: "TestSecurity", sentences: securityCases, also: securityAlso, mutants: true,
		about: "What stands against an attack, case by case, the tests that hold it, and the patches of `.ci/mutants` that take a gate out\n" +
			"so that one of them must fail. A test carries a case by its number: `TestSecurity` and the number. `make protocol-table`\n" +
			"writes this page; the sentences are in `docs/security_test.go`.",
	}.hold(t)
}
