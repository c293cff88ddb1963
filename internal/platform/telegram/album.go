package telegram

import (
	"sync"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/transport"
)

const (
	// maxAlbums limits how many albums are remembered.
	maxAlbums = 1000
	// albumWait is how long a message that names no command waits for one of its album that does. It is more than
	// nine times ackAfter: by webhook, the ten messages of an album come at most ackAfter apart.
	albumWait = 1500 * time.Millisecond
)

// albums remembers which message of each album is answered. Telegram sends an album as one message for
// each picture, and the caption usually with one of them.
type albums struct {
	mu       sync.Mutex
	answered map[album]int // the ID of the message that is answered
}

type album struct {
	chat int64
	id   string // media_group_id
}

// takesMessage reports whether a message of an album is the one to answer. That is the first one that takesMessage is
// called with.
func (a *albums) takesMessage(of album, message int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if first, known := a.answered[of]; known {
		return first == message
	}
	if a.answered == nil || len(a.answered) >= maxAlbums {
		a.answered = map[album]int{}
	}
	a.answered[of] = message
	return true
}

// answersAlbum reports whether m is to be answered. Only one message of an album is. If m's command is guessed,
// answersAlbum first blocks for albumWait.
func (s *session) answersAlbum(m *models.Message, guessed bool) bool {
	if m.MediaGroupID == "" {
		return true
	}
	if guessed {
		transport.Sleep(s.work.Commands, albumWait)
	}
	return s.albums.takesMessage(album{m.Chat.ID, m.MediaGroupID}, m.ID)
}
