package team

// Stage is where an agent is between its start and its marker.
type Stage string

// The stages.
const (
	Waiting   Stage = "waiting"   // not started
	Working   Stage = "working"   // started
	Reminded  Stage = "reminded"  // its turn ended once without a submission
	Submitted Stage = "submitted" // its work is committed, fetched, pushed
	Done      Stage = "done"
	Failed    Stage = "failed"
	Blocked   Stage = "blocked"
)

// Stages lists all stages.
func Stages() []Stage {
	return []Stage{Waiting, Working, Reminded, Submitted, Done, Failed, Blocked}
}

// Happening is what may happen to an agent.
type Happening string

// The happenings.
const (
	MayStart     Happening = "may start"     // its dependencies are done, and there is room
	CannotStart  Happening = "cannot start"  // a dependency failed or is blocked
	HandsIn      Happening = "hands in"      // it submits work that is taken
	IsRefused    Happening = "is refused"    // its work is not taken, for good
	TurnEnds     Happening = "turn ends"     // also an exit with 0: the program of a headless agent ends with its turn
	Exits        Happening = "exits"         // with another code, by a signal, or its start failed
	StepDone     Happening = "step done"     // of what follows a submission
	StepFails    Happening = "step fails"    // for good
	MarkedDone   Happening = "marked done"   // a person made its marker
	MarkedFailed Happening = "marked failed" // or one that is not empty and not 0
)

// Happenings lists all happenings.
func Happenings() []Happening {
	return []Happening{MayStart, CannotStart, HandsIn, IsRefused, TurnEnds, Exits, StepDone, StepFails, MarkedDone, MarkedFailed}
}

// Action is what follows.
type Action string

// The actions. The zero value is none.
const (
	Nothing Action = ""
	Start   Action = "start"
	Block   Action = "block"  // the marker says that it never started
	Remind  Action = "remind" // once: only a submission ends its task
	Take    Action = "take"   // the work that came with it, then the steps that follow
	Step    Action = "step"   // the next one; after the last the marker
	Fail    Action = "fail"   // the marker says with which exit code
	Finish  Action = "finish" // the marker says that it is done
)

// table holds what is not Nothing.
var table = map[Stage]map[Happening]Action{
	Waiting: {MayStart: Start, CannotStart: Block, MarkedDone: Finish, MarkedFailed: Fail},
	Working: {
		HandsIn: Take, IsRefused: Fail, TurnEnds: Remind, Exits: Fail, StepFails: Fail, MarkedDone: Take, MarkedFailed: Fail,
	},
	Reminded: {
		HandsIn: Take, IsRefused: Fail, TurnEnds: Fail, Exits: Fail, StepFails: Fail, MarkedDone: Take, MarkedFailed: Fail,
	},
	Submitted: {StepDone: Step, StepFails: Fail, MarkedFailed: Fail},
}

// Follows returns what follows when h happens to an agent in a stage.
func Follows(s Stage, h Happening) Action { return table[s][h] }
