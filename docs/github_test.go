package docs_test

import "testing"

// githubCases says for each case of the work with GitHub what its tests hold. Numbers that
// are missing belong to what waits for issues by itself.
var githubCases = map[int]string{
	1:  "A read that is told to wait waits exactly as long.",
	2:  "A creating request that meets a bare limit is sent once, and says for how long nothing will do.",
	3:  "With nothing left of the quota, nothing is asked before the reset.",
	4:  "A missing permission is asked for once.",
	5:  "A comment that was made while the answer was lost is made once.",
	6:  "So it is where lists lag behind: a twin that could not be seen is gone at the end.",
	7:  "Edits, labels and deletions are repeated after a reset.",
	8:  "A read is followed within its host; no other host ever sees the token.",
	9:  "After a rename every write is made once, at the new name; a name that another repository took over is not written to.",
	10: "Whoever waits for a limit stops at once when canceled.",
	11: "Looking a hundred times at what did not change costs one answer per address.",
	12: "A day of rest costs an account nothing, and an App one answer per address and token.",
	13: "Two identities share no answer, nor do an old and a new token.",
	14: "A clock that is off is corrected by one refused claim, each time it is set.",
	15: "A token that ends in the middle of a session loses no write.",
	16: "A server of one's own is asked below its own path and needs no rate headers.",
	17: "With little of the quota left, only what ends sessions passes.",
	18: "Who may write, by whatever role, starts work.",
	19: "Who may not is refused once, with the reason and what to do next.",
	20: "Bots are refused without a word; an account that is deleted cannot ask.",
	21: "The one who set the label last is judged; one label is one trigger, whichever way it was noticed.",
	22: "Nothing starts before the permission is known.",
	23: "A text that somebody without write access changed after the label is not what was asked for.",
	24: "What is closed, transferred, archived, a pull request or another label starts nothing; a fork only where that is wanted.",
	25: "Labels that are set together are one request, and name one workflow that there is.",
	26: "Each rate queues or refuses what is too much, and says so.",
	27: "A thousand hooks, lost, doubled, shuffled and forged, end as without any.",
	28: "A request is seen within the interval without hooks, and within ten seconds with one.",
	30: "A signature that is wrong, missing or of SHA-1 wakes nothing, and so does an event of no use.",
	31: "A sender that is slow is cut off after five seconds without a header and thirty without a body.",
	32: "A process that ends right after its answer to a hook leaves the request to the next start.",
	33: "Ten thousand hooks are one poll at a time, the last one is served, and what polls and searches missed the full sync finds.",
	29: "A hook that comes hours late starts nothing on an issue that is closed since.",
	36: "Of ten hosts that claim an issue at once, one gets it, each time; two that share an id are two.",
	37: "A claim, a take-over, a beat or a release whose answer was lost is settled by asking, at once or by the next try.",
	38: "A host that was seen silent for ten minutes loses its claims and learns it; a job loses them when its run is over.",
	39: "A clock that is an hour off makes no host stale.",
	40: "A machine that was suspended asks before it writes; a branch that is refused sinks no beat.",
	41: "A server that takes no refs of ours is refused with the name of the setting; with it, issues are locks of the machine.",
	43: "Cleaning is what the corpus says, and cleaning twice changes nothing.",
	44: "Generics, code and other scripts survive cleaning and make nobody suspicious.",
	45: "Comments of those who may not steer are counted and left out; private members with write are heard.",
	46: "An issue edited under way is one line of the status.",
	47: "Each text in each mode is what the golden file says, and is shown on GitHub as it is meant.",
	48: "Large texts are at most three comments, each whole in itself.",
	49: "What agents write mentions nobody, closes nothing and forges no marker.",
	50: "A marker counts only in what is ours; our account without a marker is a person.",
	51: "Five hundred records in a second are one or two edits.",
	52: "Two minutes after an hour without GitHub everything is shown, with one edit.",
	53: "A mirror killed at any write, or begun anew from the records, shows the same.",
	54: "Each command does in each standing what the table says, for who may write, in comments and in reviews.",
	55: "What is quoted, fenced, below the first line, edited or old is no command.",
	56: "One comment is one command, however often it is seen and whenever the program is killed.",
	57: "An approval holds for what was shown; another plan in its place is refused.",
	58: "A message to an agent that is not there is refused or waits, and is on record.",
	59: "Branches of others, commits of people, conflicts and each refusal of a push end as they should.",
	60: "A pull request that is open, closed, merged or forbidden is adopted, asked about, taken as done, or left to a person.",
	61: "Nothing changed: no branch, no pull request.",
	62: "Ready for review only when every verdict is for the pushed tree and nothing is held.",
	63: "Another base than the default one: the pull request refers to the issue and does not close it.",
	65: "A log, and what the program wrote, give no command.",
	68: "A checkpoint leaves out what holds a secret, and says so.",
	69: "A dry run writes nothing and lists what the run writes.",
	70: "Each permission that is missing is named with what to do; an App with fewer works.",
	71: "The reference session stays in its budget.",
	72: "The order of the queue is fair to repositories and people, and holds while it drains.",
	74: "A locked issue is commented on no more; its texts stand on the pull request.",
	77: "Without write permission the branch stays in the clone, and nothing is written.",
	78: "A bot makes the request label where it is missing; where it may not, it says how, and serves all the same.",
	79: "Once the claim is lost nothing is written any more, whichever write would come next.",
	86: "Discovery takes half of each limit and of the quota, however many repositories there are; calls for sessions and other identities wait for none of it.",
	87: "A repository that was renamed or transferred is found by its id, also where its name was taken; a deleted one is told.",
	80: "What is wrong in the base commit is refused with its line; what the machine lacks, a full disk too, waits and loses nothing.",
	82: "A comment in the moment of the release, or to a host that ends, is obeyed once.",
	84: "A stop drops a ticket and ends the follow-ups of a pull request; where a review takes no receipt, the fold tells.",
	88: "An issue that a host works on is left to it, until that host is gone.",
}

// githubAlso are tests that carry a case under another name.
var githubAlso = map[int][]string{
	8:  {"ghsync/transport_test.go TestSecurity23RedirectOfARead"},
	43: {"internal/sanitize/sanitize_test.go TestSecurity4HiddenTextIsRemoved", "internal/sanitize/fuzz_test.go FuzzSanitize"},
	45: {"ghsync/snapshot_test.go TestSecurity5SnapshotTakesOnlyWhatMaySteer"},
	49: {"ghsync/markdown/neutral_test.go TestSecurity24ForeignLineIsInert", "ghsync/markdown/neutral_test.go TestSecurity24TitlesHaveNoReferences"},
	50: {"ghsync/snapshot_test.go TestSecurity5SnapshotTakesOnlyWhatMaySteer"},
	59: {"bot/host/github_test.go TestABranchOfSomebodyElseGetsAnotherName"},
	60: {"ghsync/pullrequest_test.go TestPullRequestThatAPersonEndedStaysEnded"},
	62: {"orchestrator/decide/park_test.go TestProtocolG5ReadyOnlyForTheTreeThatPassed", "bot/host/github_test.go TestProtocolG5AnIssueBecomesAReadyPullRequest"},
	68: {"cmd/agentmux/canary_test.go TestSecurity33CheckpointsHoldNoSecret", "bot/host/checkpoint_test.go TestACheckpointHoldsTheSession"},
	74: {"ghsync/mirror/mirror_test.go TestLockedIssueGetsLabelsAndThePullRequestTheComments"},
}

// TestGitHubTable holds that each case has a test and that the page lists them all.
// `make protocol-table` writes the page.
func TestGitHubTable(t *testing.T) {
	numbered{
		page: "github-cases.md", title: "GitHub cases", prefix: "TestGitHub", sentences: githubCases, also: githubAlso,
		about: "What the work with GitHub promises, case by case, and the tests that hold it. A test carries a case by its number:\n" +
			"`TestGitHub` and the number, or a part of `TestGitHub` that begins with it. `make protocol-table` writes this page; the\n" +
			"sentences are in `docs/github_test.go`.",
	}.hold(t)
}
