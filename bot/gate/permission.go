package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// MayAsk reports whether an account may have work done, by what the server answered about it now.
// It is the row RowPermission by itself: the guard judges it again before the first push of a
// round. If not, the decision is Refuse, or Later if the answer is missing; its remedy is empty.
// An answer about another account of the same login refuses. Whether the account is a person's
// is not looked at here.
func MayAsk(bot config.Bot, who ghsync.Account, a Answer) (Decision, bool) {
	least, _ := ghsync.ParseLevel(bot.MinPermission)
	least = max(least, ghsync.LevelWrite)
	var d Decision
	switch level := a.Permission.Level; {
	case !listedUser(bot, who):
		d = refuse("", "%s is not in bot.allowed_users", who.Login)
	case a.Err != nil:
		return unanswered(a.Err, "the permission of "+who.Login, Tries{}), false
	case another(who, a):
		d = refuse("", "%s is another account now", who.Login)
	case level < least:
		d = refuse("", "%s has %s permission, and %s is needed", who.Login, has(level), least)
	default:
		return Decision{}, true
	}
	d.Row = RowPermission
	return d, false
}

// MayPush is MayAsk for what somebody asked for, once more before it is pushed. An error says when to ask again.
func MayPush(bot config.Bot, who ghsync.Account, a Answer) (refused string, err error) {
	d, may := MayAsk(bot, who, a)
	switch {
	case may:
		return "", nil
	case d.What == Later:
		return "", &transport.RetryAfter{Wait: d.After, Scope: "permission", Err: errors.New(d.Reason)}
	}
	return d.Reason + ", so nothing is pushed", nil
}

// another reports whether the answer is about somebody else: the account got another login, and
// this one was free.
func another(who ghsync.Account, a Answer) bool {
	id := a.Permission.Account.ID
	return id != 0 && who.ID != 0 && id != who.ID
}

// has is a level as the permission that somebody has.
func has(l ghsync.Level) string {
	if l == ghsync.LevelNone {
		return "no"
	}
	return l.String()
}

// listedUser reports whether the configuration lets the account ask.
func listedUser(bot config.Bot, who ghsync.Account) bool {
	return len(bot.AllowedUsers) == 0 || slices.ContainsFunc(bot.AllowedUsers, func(login string) bool { return strings.EqualFold(login, who.Login) })
}

func permission(v *view) (Decision, bool) {
	who := v.asked.By.Account
	var a Answer
	if listedUser(v.Rules.Bot, who) {
		var known bool
		if a, known = v.permission(who.Login); !known {
			return Decision{}, false
		}
	}
	if a.Err != nil {
		return unanswered(a.Err, "the permission of "+who.Login, v.Tries), true
	}
	if another(who, a) {
		// The next record has the new login of the one who asked.
		d := later(time.Second, "%s is another account now", who.Login)
		d.Row = RowUnread
		return d, true
	}
	d, may := MayAsk(v.Rules.Bot, who, a)
	if may {
		v.asked.By.Level = a.Permission.Level
		return Decision{}, false
	}
	if d.Refused() {
		least, _ := ghsync.ParseLevel(v.Rules.Bot.MinPermission)
		d.Remedy = fmt.Sprintf("a person with %s permission%s can %s", max(least, ghsync.LevelWrite), amongUsers(v.Rules.Bot), v.again())
	}
	return d, true
}

func amongUsers(bot config.Bot) string {
	if len(bot.AllowedUsers) == 0 {
		return ""
	}
	return " who is in bot.allowed_users"
}
