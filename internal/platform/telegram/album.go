package telegram

import (
	"sync"

	"github.com/go-telegram/bot/models"

	"herald/internal/transport"
)

// maxAlbums limits how many albums are remembered.
const maxAlbums = 1000

// albums remembers which message of each album is answered. Telegram sends an album as one message for
// each picture, and the caption usually with one of them.
type albums struct {
	mu       sync.Mutex
	answered map[album]int // a message ID
}

type album struct {
	chat int64
	id   string // media_group_id
}

// claim reports whether a message of an album is the one to answer: the first that was claimed.
func (a *albums) claim(of album, message int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answered == nil || len(a.answered) >= maxAlbums {
		a.answered = map[album]int{}
	}
	if first, known := a.answered[of]; known {
		return first == message
	}
	a.answered[of] = message
	return true
}

// answersAlbum reports whether m, which asks a command, is to be answered. Of an album only one message
// is. A message without a caption waits for one with a caption, for helloAfter/2.
func (s *session) answersAlbum(m *models.Message) bool {
	if m.MediaGroupID == "" {
		return true
	}
	if m.Caption == "" {
		transport.Sleep(s.tasks.Commands, helloAfter/2)
	}
	return s.albums.claim(album{m.Chat.ID, m.MediaGroupID}, m.ID)
}
