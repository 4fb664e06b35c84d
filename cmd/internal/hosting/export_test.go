package hosting

import (
	"sync/atomic"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/ear"
)

func ClaimedOwner(of ear.Owner, held *atomic.Pointer[claim.Held]) ear.Owner {
	return claimedOwner{Owner: of, held: held}
}

// Narrate is narrate.
var Narrate = narrate
