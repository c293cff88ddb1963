//go:build soak

package soak

import (
	"fmt"
	"strings"

	"herald/internal/e2e/e2etest"
)

// counter names something that the test counts. All counts are printed at the end of a run.
type counter string

// What people did.
const (
	commandsSent counter = "commands"
	pressesMade  counter = "presses"
	queriesSent  counter = "inline queries"
)

// What was wrong with answers.
const (
	// wrongAnswers answer no question of the person who was shown them.
	wrongAnswers counter = "wrong"
	// doubledAnswers answer a question that was answered before.
	doubledAnswers counter = "doubled"
	// unansweredQuestions have no answer after patience, and no excuse.
	unansweredQuestions counter = "unanswered"
	// lateResponses are first responses on Discord that came too late because the process was stalled.
	lateResponses counter = "late on a stalled machine"
	// markedOld are the answers that say how old they are. They are right.
	markedOld counter = "marked with an age"
)

// What platforms and Redis did.
const (
	// unclearSends are calls that show a message on Telegram and fail in such a way that the bot cannot
	// know whether the message is shown. The bot may send it again.
	unclearSends counter = "sends of unknown outcome"
	// lostResponses are calls that Discord carried out without a response. The bot may repeat them.
	lostResponses counter = "calls with cause to be repeated"
	// repeatedCalls are calls that the bot repeated on Discord.
	repeatedCalls counter = "calls repeated"
	redisPauses   counter = "redis paused"
	redisKills    counter = "redis killed"
)

// count adds n to a counter.
func (s *soak) count(c counter, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[c] += n
}

// counted returns the value of a counter.
func (s *soak) counted(c counter) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[c]
}

// minAskedPerUnanswered is the minimum number of questions for each one that is not answered.
const minAskedPerUnanswered = 1000

// compareCounts fails the test if the bot's metrics do not account for each question without an answer,
// or if answers or calls were repeated more often than faults explain.
func (s *soak) compareCounts() {
	// The outcome of a send that hangs is unknown only when its time is over.
	e2etest.Eventually(s, "the adapter counts the sends that broke off", func() bool {
		return s.event("telegram", "send_outcome_unknown") == s.counted(unclearSends)
	})
	unansweredPresses := s.event("telegram", "press_unanswered")
	unansweredQueries := s.event("telegram", "inline_unanswered")
	abandoned := s.event("telegram", "send_abandoned")
	tooLate := s.event("discord", "too_late") +
		s.alerted("discord", "answer_expired") +
		s.alerted("discord", "answer_outcome_unknown")
	panics := s.alerted("telegram", "panic") + s.alerted("discord", "panic") + s.alerted("members", "panic")

	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	if len(s.presses) > unansweredPresses {
		s.Errorf("%d presses are not answered, %d are counted", len(s.presses), unansweredPresses)
	}
	if len(s.queries) > unansweredQueries {
		s.Errorf("%d inline queries are not answered, %d are counted", len(s.queries), unansweredQueries)
	}
	if panics > 0 {
		s.Errorf("%d panics", panics)
	}
	if c[lateResponses] > tooLate {
		s.Errorf("%d first responses are late, %d are counted", c[lateResponses], tooLate)
	}
	asked := c[commandsSent] + c[pressesMade]
	if c[unansweredQuestions]*minAskedPerUnanswered > asked || c[unansweredQuestions] > abandoned {
		s.Errorf("%d of %d are not answered, %d are counted as abandoned", c[unansweredQuestions], asked, abandoned)
	}
	if c[doubledAnswers] > c[unclearSends] {
		s.Errorf("more answers are doubled than sends had an unknown outcome: %v", c)
	}
	if c[repeatedCalls] > c[lostResponses] {
		s.Errorf("more calls are repeated than had a cause: %v", c)
	}
}

// event returns how often a platform's adapter has counted an event. Most events are not exported before
// they first happen; event then returns 0.
func (s *soak) event(platform, name string) int {
	n, _ := s.metric(eventSeries(platform, name))
	return n
}

// alerted is like event, for an event that the bot exports from its start because there is an alert on
// it. It fails the test if the event is not exported.
func (s *soak) alerted(platform, name string) int { return s.exported(eventSeries(platform, name)) }

// eventSeries returns the name of the series that counts an adapter's event.
func eventSeries(platform, event string) string {
	return `herald_adapter_events_total{event="` + event + `",platform="` + platform + `"}`
}

// exported returns the value of a series, and fails the test if the bot does not export it.
func (s *soak) exported(series string) int {
	n, isExported := s.metric(series)
	if !isExported {
		s.Errorf("the bot does not export %s", series)
	}
	return n
}

// metric returns the value of a series of the bot, and whether the bot exports it.
func (s *soak) metric(series string) (n int, isExported bool) {
	_, rest, isExported := strings.Cut(e2etest.Metrics(s, s.bot.URL), "\n"+series+" ")
	var value float64
	_, _ = fmt.Sscan(rest, &value)
	return int(value), isExported
}
