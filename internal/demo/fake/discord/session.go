package discord

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// session is what RESUME resumes.
type session struct {
	id         string
	sequence   int
	dispatches []packet // the newest, at most maxReplay
	conn       *conn    // nil between two connections
	status     string   // of the bot
}

// maxReplay bounds the dispatches that can be replayed.
const maxReplay = 1000

// Resumes returns how many RESUMEs succeeded.
func (s *Server) Resumes() int { return get(s, &s.resumes) }

// ForgetSession ends the session, as Discord does if the bot is away for too long.
func (s *Server) ForgetSession() { s.Change(func() { s.session = nil }) }

// resume handles RESUME.
func (s *Server) resume(c *conn, data []byte) {
	var d struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     *int   `json:"seq"`
	}
	malformed := json.Unmarshal(data, &d) != nil || d.Seq == nil
	ended := locked(s, func() bool { return s.session == nil || s.session.id != d.Session })
	switch {
	case malformed:
		c.do(Action{Close: 4002})
	case d.Token != s.Token:
		c.do(Action{Close: 4004})
	case get(s, &c.session) != nil:
		c.do(Action{Close: 4005})
	case c.behaviour.InsteadOfResumed != nil:
		s.doAll(c, c.behaviour.InsteadOfResumed)
	case ended || !c.resumes:
		s.do(c, Action{Op: 9})
	default:
		s.replay(c, *d.Seq)
		s.doAll(c, c.behaviour.AfterReady)
	}
}

// replay sends the dispatches after a sequence, and RESUMED.
func (s *Server) replay(c *conn, after int) {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	var missed []packet
	s.Change(func() {
		s.session.conn = c
		c.session = s.session
		s.resumes++
		s.connects++
		s.session.add("RESUMED", map[string]any{})
		missed = slices.Clone(s.session.dispatches)
	})
	missed = slices.DeleteFunc(missed, func(p packet) bool { return *p.Sequence <= after })
	for _, p := range missed {
		c.send(p)
	}
}

// ready begins a session and sends READY, before any other dispatch of the session.
func (s *Server) ready(c *conn) {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	s.Lock()
	s.session = &session{id: "session" + s.nextID(), conn: c}
	c.session = s.session
	s.connects++
	address := cmp.Or(c.behaviour.ResumeURL, "ws"+strings.TrimPrefix(s.url, "http")+resumePath)
	p := s.session.add("READY", map[string]any{
		"v":                  9,
		"session_id":         s.session.id,
		"resume_gateway_url": address,
		"guilds":             []any{},
		"user":               map[string]any{"id": s.ApplicationID, "username": BotName, "bot": true},
		"application":        map[string]any{"id": s.ApplicationID},
	})
	s.Notify()
	s.Unlock()
	c.send(p)
}

// add returns the session's next dispatch, and keeps it for replay. The caller holds the
// server's lock.
func (s *session) add(event string, data any) packet {
	s.sequence++
	sequence := s.sequence
	p := packet{Data: data, Sequence: &sequence, Type: event}
	s.dispatches = append(s.dispatches, p)
	s.dispatches = s.dispatches[max(0, len(s.dispatches)-maxReplay):]
	return p
}

// endSession deletes the session of c.
func (s *Server) endSession(c *conn) {
	s.Change(func() {
		if c.session != nil && c.session == s.session {
			s.session = nil
		}
	})
}

// deliver dispatches an interaction. Between two connections, the interaction is replayed
// once the bot resumes.
func (s *Server) deliver(interaction any) error {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	s.Lock()
	current := s.session
	if current == nil {
		s.Unlock()
		return errors.New("no bot is connected to the gateway")
	}
	p, c := current.add("INTERACTION_CREATE", interaction), current.conn
	s.Unlock()
	if c != nil {
		c.send(p)
	}
	return nil
}

// Limits of updates of the presence.
// https://discord.com/developers/docs/events/gateway-events#activity-object
const (
	maxStatus      = 128 // characters
	maxPresences   = 5   // in presenceWindow, as Discord's own client libraries have it
	presenceWindow = 20 * time.Second
	customActivity = 4
)

// Status returns the bot's custom status in the current session, or "".
func (s *Server) Status() string {
	return locked(s, func() string {
		if s.session == nil {
			return ""
		}
		return s.session.status
	})
}

// Presences returns the times at which the presence was set.
func (s *Server) Presences() []time.Time { return list(s, &s.presences) }

// updatePresence handles op 3.
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

// readStatus returns the custom status in a presence, or "". It knows no other activity.
func readStatus(data []byte) (status string, err error) {
	var p struct {
		Activities []struct {
			Name, State string
			Type        int
		}
		Status string
		AFK    *bool
	}
	if json.Unmarshal(data, &p) != nil || p.Activities == nil || len(p.Activities) > 1 || p.AFK == nil ||
		p.Status != "online" {
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
