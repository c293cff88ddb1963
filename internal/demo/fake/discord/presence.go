package discord

import (
	"bytes"
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
	maxStatus      = 128 // characters
	maxPresences   = 5   // in presenceWindow, as Discord's own client libraries have it
	presenceWindow = 20 * time.Second
	customActivity = 4
)

// presence is a bot's own, as op 3 sets it. A bot may set no other members.
type presence struct {
	Since      *int       `json:"since"`
	Activities []activity `json:"activities"`
	Status     string     `json:"status"`
	AFK        *bool      `json:"afk"`
}

type activity struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Type  int    `json:"type"`
}

// Status is the custom status that members see of the bot in the current session,
// or "".
func (s *Server) Status() string {
	return locked(s, func() string {
		if s.session == nil {
			return ""
		}
		return s.session.status
	})
}

// Presences are the times at which the presence was set.
func (s *Server) Presences() []time.Time { return list(s, &s.presences) }

// updatePresence takes op 3.
func (s *Server) updatePresence(c *conn, data []byte) {
	status, err := readStatus(data)
	s.mu.Lock()
	now := time.Now()
	s.presences = append(s.presences, now)
	recent := len(s.presences) - slices.IndexFunc(s.presences, func(at time.Time) bool { return now.Sub(at) < presenceWindow })
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
		c.session.status = status
	}
	s.notify()
	s.mu.Unlock()
	if refused != 0 {
		c.do(Action{Close: refused})
	}
}

// readStatus reads a presence of one custom status, the only kind known here, or of
// none.
func readStatus(data []byte) (status string, err error) {
	var p presence
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return "", err
	}
	if p.Activities == nil || len(p.Activities) > 1 || p.AFK == nil || !slices.Contains([]string{"online", "dnd", "idle", "invisible", "offline"}, p.Status) {
		return "", errors.New("needs activities, afk and a status that Discord has")
	}
	if len(p.Activities) == 0 {
		return "", nil
	}
	a := p.Activities[0]
	if a.Type != customActivity || a.Name == "" || a.State == "" || len(utf16.Encode([]rune(a.State))) > maxStatus {
		return "", errors.New("needs a custom status with a name and a state that is not too long")
	}
	return a.State, nil
}
