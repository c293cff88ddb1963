package discord

import (
	"encoding/json"
	"errors"
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
	s.Lock()
	s.presences = append(s.presences, time.Now())
	if n := len(s.presences) - maxPresences - 1; n >= 0 && time.Since(s.presences[n]) < presenceWindow {
		err = errors.New("presence: set too often")
	}
	if c.session == nil {
		err = errors.New("presence: set before READY")
	}
	if err == nil {
		c.session.status = status
	} else {
		s.note(err)
	}
	s.Notify()
	s.Unlock()
	if err != nil {
		c.do(Action{Close: 4002})
	}
}

// readStatus reads a presence of one custom status, the only kind known here, or of
// none.
func readStatus(data []byte) (status string, err error) {
	var p struct {
		Activities []struct {
			Name, State string
			Type        int
		}
		Status string
		AFK    *bool
	}
	if json.Unmarshal(data, &p) != nil || p.Activities == nil || len(p.Activities) > 1 || p.AFK == nil || p.Status != "online" {
		return "", errors.New("presence: needs activities, afk and a status")
	}
	for _, a := range p.Activities {
		status = a.State
		if a.Type != customActivity || a.Name == "" || status == "" || len(utf16.Encode([]rune(status))) > maxStatus {
			return "", errors.New("presence: needs a custom status with a name and a state that is not too long")
		}
	}
	return status, nil
}
