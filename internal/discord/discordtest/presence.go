package discordtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf16"
)

// Limits of updates of the presence.
// https://discord.com/developers/docs/events/gateway-events#activity-object
const (
	maxStatus      = 128 // characters of a name or a state
	maxPresences   = 5   // in presenceWindow, as Discord's own client libraries have it
	presenceWindow = 20 * time.Second
	customActivity = 4
)

// presence is a bot's own, as op 3 sets it.
type presence struct {
	Since      *int             `json:"since"`
	Activities []map[string]any `json:"activities"`
	Status     string           `json:"status"`
	AFK        *bool            `json:"afk"`
}

// Status is the custom status that members see of the bot in the session there
// is; empty if there is none.
func (s *Server) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return ""
	}
	return s.session.status
}

// Presences are the times at which the presence was set.
func (s *Server) Presences() []time.Time {
	return locked(s, func() []time.Time { return slices.Clone(s.presences) })
}

// updatePresence takes op 3.
func (s *Server) updatePresence(c *conn, data []byte) {
	var p presence
	err := json.Unmarshal(data, &p)
	if err == nil {
		err = checkPresence(p)
	}
	s.mu.Lock()
	now := time.Now()
	s.presences = append(s.presences, now)
	recent := 0
	for _, at := range s.presences {
		if now.Sub(at) < presenceWindow {
			recent++
		}
	}
	refused := 0
	switch {
	case c.session == nil:
		refused = 4003
	case err != nil:
		s.note(fmt.Errorf("presence: %w", err))
		refused = 4002
	case recent > maxPresences:
		s.note(errors.New("presence: set too often"))
		refused = 4008
	default:
		c.session.status = p.text()
	}
	s.notify()
	s.mu.Unlock()
	if refused != 0 {
		c.do(Action{Close: refused})
	}
}

// text is the custom status.
func (p presence) text() string {
	for _, a := range p.Activities {
		if a["type"] == float64(customActivity) {
			text, _ := a["state"].(string)
			return text
		}
	}
	return ""
}

func checkPresence(p presence) error {
	if p.Activities == nil || p.AFK == nil || !slices.Contains([]string{"online", "dnd", "idle", "invisible", "offline"}, p.Status) {
		return errors.New("needs activities, afk and a status that there is")
	}
	for _, a := range p.Activities {
		kind, isNumber := a["type"].(float64)
		name, _ := a["name"].(string)
		state, _ := a["state"].(string)
		switch {
		case !isNumber || kind != float64(int(kind)) || kind < 0 || kind > 5:
			return errors.New("an activity needs a type from 0 to 5")
		case name == "":
			return errors.New("an activity needs a name")
		case kind == customActivity && state == "":
			return errors.New("a custom status needs a state")
		}
		for member, value := range a {
			text, isText := value.(string)
			switch {
			// A bot may set no others.
			case !slices.Contains([]string{"name", "state", "type", "url"}, member):
				return fmt.Errorf("an activity of a bot has no %s", member)
			case member != "type" && !isText:
				return fmt.Errorf("%s is no text", member)
			case len(utf16.Encode([]rune(text))) > maxStatus:
				return fmt.Errorf("%s is too long", member)
			}
		}
	}
	return nil
}
