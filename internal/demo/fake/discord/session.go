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

// session is a session of the bot, which may have several connections, one after the other. The server's lock
// guards it.
type session struct {
	id         string
	sequence   int      // of the latest dispatch
	dispatches []packet // the latest, at most maxReplay
	conn       *conn    // nil between two connections
	status     string   // the bot's custom status
}

// maxReplay is the maximum number of dispatches that RESUME replays.
const maxReplay = 1000

// Resumes returns how many RESUMEs succeeded.
func (s *Server) Resumes() int { return get(s, &s.resumes) }

// ForgetSession ends the session, as Discord does if the bot stays disconnected for too long.
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
		c.closeWith(closeDecodeError)
	case d.Token != s.Token:
		c.closeWith(closeAuthenticationFailed)
	case get(s, &c.session) != nil:
		c.closeWith(closeAlreadyAuthenticated)
	case c.behaviour.InsteadOfResumed != nil:
		s.doAll(c, c.behaviour.InsteadOfResumed)
	case ended || !c.toResume:
		s.do(c, Action{Op: opInvalidSession})
	default:
		s.replay(c, *d.Seq)
		s.doAll(c, c.behaviour.AfterReady)
	}
}

// replay continues the session on c: it sends the dispatches after a sequence number, and RESUMED.
func (s *Server) replay(c *conn, after int) {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	var missed []packet
	s.Change(func() {
		s.session.conn = c
		c.session = s.session
		s.resumes++
		s.connects++
		s.session.addDispatch("RESUMED", map[string]any{})
		missed = slices.Clone(s.session.dispatches)
	})
	missed = slices.DeleteFunc(missed, func(p packet) bool { return *p.Sequence <= after })
	for _, p := range missed {
		c.send(p)
	}
}

// ready begins a session on c, and sends READY before any other dispatch of the session.
func (s *Server) ready(c *conn) {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	s.Lock()
	s.session = &session{id: "session" + s.nextID(), conn: c}
	c.session = s.session
	s.connects++
	address := cmp.Or(c.behaviour.ResumeURL, "ws"+strings.TrimPrefix(s.url, "http")+resumePath)
	p := s.session.addDispatch("READY", map[string]any{
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

// addDispatch makes the session's next dispatch, and keeps it for replay. The caller must hold the server's
// lock, and send the dispatch.
func (s *session) addDispatch(event string, data any) packet {
	s.sequence++
	sequence := s.sequence
	p := packet{Data: data, Sequence: &sequence, Type: event}
	s.dispatches = append(s.dispatches, p)
	s.dispatches = s.dispatches[max(0, len(s.dispatches)-maxReplay):]
	return p
}

// endSession ends the session of c, if it is the current one.
func (s *Server) endSession(c *conn) {
	s.Change(func() {
		if c.session != nil && c.session == s.session {
			s.session = nil
		}
	})
}

// deliver dispatches an interaction. If the bot is disconnected, it receives the interaction when it resumes the
// session. deliver returns an error if there is no session.
func (s *Server) deliver(interaction any) error {
	s.dispatching.Lock()
	defer s.dispatching.Unlock()
	s.Lock()
	current := s.session
	if current == nil {
		s.Unlock()
		return errors.New("no bot is connected to the gateway")
	}
	p := current.addDispatch("INTERACTION_CREATE", interaction)
	c := current.conn
	s.Unlock()
	if c != nil {
		c.send(p)
	}
	return nil
}

// Limits on updates of the presence.
const (
	maxStatus = 128 // UTF-16 code units
	// maxPresences is the maximum number of updates in presenceWindow. Discord's client libraries have it.
	maxPresences   = 5
	presenceWindow = 20 * time.Second
)

// customActivity is the type of an activity that shows a custom status.
// https://discord.com/developers/docs/events/gateway-events#activity-object
const customActivity = 4

// Status returns the bot's custom status in the current session. It returns "" if there is none.
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

// updatePresence handles an update of the bot's presence.
func (s *Server) updatePresence(c *conn, data []byte) {
	status, err := readStatus(data)
	s.Lock()
	s.presences = append(s.presences, time.Now())
	earlier := len(s.presences) - 1 - maxPresences // index of the update that is maxPresences before this one
	if earlier >= 0 && time.Since(s.presences[earlier]) < presenceWindow {
		err = errors.New("presence: set too often")
	}
	if c.session == nil {
		err = errors.New("presence: set before READY")
	}
	if err == nil {
		c.session.status = status
	} else {
		s.refuseLocked(err)
	}
	s.Notify()
	s.Unlock()
	if err != nil {
		c.closeWith(closeDecodeError)
	}
}

// readStatus returns the custom status in a presence, or "" if there is no activity. It returns an error if there
// is any other activity.
func readStatus(data []byte) (string, error) {
	var p struct {
		Activities []struct {
			Name, State string
			Type        int
		}
		Status string
		AFK    *bool
	}
	malformed := json.Unmarshal(data, &p) != nil || p.Activities == nil || p.AFK == nil
	if malformed || len(p.Activities) > 1 || p.Status != "online" {
		return "", errors.New("presence: needs activities, afk and a status")
	}
	if len(p.Activities) == 0 {
		return "", nil
	}
	a := p.Activities[0]
	length := len(utf16.Encode([]rune(a.State)))
	isCustomStatus := a.Type == customActivity && a.Name != ""
	if !isCustomStatus || length == 0 || length > maxStatus {
		return "", errors.New("presence: needs a custom status with a name and a state that is not too long")
	}
	return a.State, nil
}
