package members

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"herald/internal/chat"
)

// tellWhyLost tells a user why a badge was removed, if they have a private chat with the bot. It tells only of a loss
// that the row records: if the user was forgotten, or the settings do not name the badge any more, it does nothing.
func (m *Members) tellWhyLost(ctx context.Context, c *community, user chat.User, b Badge) {
	row, err := c.rows.load(ctx, user.ID)
	if err != nil || row == nil || row.Forgotten() {
		return
	}
	loss := row.lost(c.id, b.ID)
	_, configured := c.tiers.find(c.id, b.ID)
	if loss == nil || !configured {
		return
	}
	c.adapter.Notify(ctx, user.ID, &chat.Reply{
		Language: m.Language, Tone: chat.Negative,
		Title: chat.SayWith("lost.title", chat.Values{"badge": b.Name, "group": b.Group()}),
		Text:  WhyLost(*loss, chat.Address{Hex: row.Wallet.Hex()}, b.Amount, m.Symbol),
	})
}

// WhyLost returns a text that says when and why a badge with this amount was lost, and what brings it back. The amount
// 0 stands for any stake.
func WhyLost(l Loss, wallet chat.Value, amount decimal.Decimal, symbol string) chat.Text {
	values := chat.Values{"wallet": wallet, "when": WhenLost(l), "verify": chat.CommandLink("/verify")}
	switch {
	case l.Disowned:
		return chat.SayWith("lost.owner", values)
	case amount.IsZero():
		return chat.SayWith("lost.stake", values)
	default:
		values["amount"] = chat.Amount{Decimal: amount, Symbol: symbol}
		return chat.SayWith("lost.amount", values)
	}
}

// WhenLost returns a text with the times of the two checks that missed the amount, in UTC. It names the day once if
// both were on one day.
func WhenLost(l Loss) chat.Text {
	const day, timeOfDay = 24 * time.Hour, "15:04"
	key := "lost.days"
	if l.First.Truncate(day).Equal(l.Second.Truncate(day)) {
		key = "lost.day"
	}
	return chat.SayWith(key, chat.Values{
		"day": chat.Day{Time: l.First.Time}, "first": chat.Plain(l.First.Format(timeOfDay)),
		"later": chat.Day{Time: l.Second.Time}, "second": chat.Plain(l.Second.Format(timeOfDay)),
	})
}

// IsBySameChecks reports whether the same two checks caused both losses, for the same reason.
func (l Loss) IsBySameChecks(other Loss) bool {
	return l.First.Equal(other.First.Time) && l.Second.Equal(other.Second.Time) && l.Disowned == other.Disowned
}
