package telegram

import (
	"sync"
	"time"

	"github.com/go-telegram/bot/models"

	"herald/internal/transport"
)

// Telegram sends an album as one message for each picture, and the caption usually with one of them. The bot answers
// only one message of an album.
const (
	// maxAlbums limits how many albums are remembered.
	maxAlbums = 1000
	// albumWait is how long a message that names no command waits for another message of its album that does. By
	// webhook, each of the ten messages of an album may come ackAfter later than the one before, so albumWait is more
	// than nine times ackAfter.
	albumWait = 1500 * time.Millisecond
)

// needsAnswerInAlbum reports whether m needs an answer, because it is in no album, or is the message of its album to
// answer. If m's command is guessed, needsAnswerInAlbum first blocks for albumWait.
func (s *session) needsAnswerInAlbum(m *models.Message, guessed bool) bool {
	if m.MediaGroupID == "" {
		return true
	}
	if guessed {
		transport.Sleep(s.work.Commands, albumWait)
	}
	return s.albums.isFirst(album{m.Chat.ID, m.MediaGroupID}, m.ID)
}

// albums remembers which message of each album is answered: the first one that isFirst is called with.
type albums struct {
	mu    sync.Mutex
	first map[album]int // message IDs
}

type album struct {
	chat int64
	id   string // media_group_id
}

// isFirst reports whether this message of an album is the first one that isFirst is called with. It returns the same if
// it is called again with the same message.
func (a *albums) isFirst(of album, message int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if first, known := a.first[of]; known {
		return message == first
	}
	if a.first == nil || len(a.first) >= maxAlbums {
		a.first = map[album]int{}
	}
	a.first[of] = message
	return true
}
