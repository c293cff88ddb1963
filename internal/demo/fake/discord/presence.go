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
	maxStatus      = 128 // characters of a name or a state
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
	URL   string `json:"url"`
	Type  *int   `json:"type"`
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
	p, err := readPresence(data)
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
		if *a.Type == customActivity {
			return a.State
		}
	}
	return ""
}

func readPresence(data []byte) (p presence, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, err
	}
	if p.Activities == nil || p.AFK == nil || !slices.Contains([]string{"online", "dnd", "idle", "invisible", "offline"}, p.Status) {
		return p, errors.New("needs activities, afk and a status that there is")
	}
	for _, a := range p.Activities {
		switch {
		case a.Type == nil || *a.Type < 0 || *a.Type > 5:
			return p, errors.New("an activity needs a type from 0 to 5")
		case a.Name == "" || *a.Type == customActivity && a.State == "":
			return p, errors.New("an activity needs a name, and a custom status a state")
		case len(utf16.Encode([]rune(a.Name))) > maxStatus, len(utf16.Encode([]rune(a.State))) > maxStatus:
			return p, errors.New("an activity is too long")
		}
	}
	return p, nil
}
