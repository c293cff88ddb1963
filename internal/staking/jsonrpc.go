package staking

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// envelope is the RoundTripper below go-ethereum's client. It refuses what that
// would take: answers to calls that were not asked, two answers to one call. It
// shows what that would hide: the code of an error that stands for a whole
// batch, and Retry-After. And it drops the texts of errors, which may repeat
// the call.
type envelope struct{ next http.RoundTripper }

func (e envelope) RoundTrip(req *http.Request) (*http.Response, error) {
	asked, err := readAsked(req)
	if err != nil {
		return nil, err
	}
	resp, err := e.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, &statusError{
			status:     resp.StatusCode,
			retryAfter: parseRetryAfter(resp.Header.Get("Retry-After"), time.Now()),
		}
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if body, err = matchAnswers(asked, body); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// message is a JSON-RPC request or response, as far as it matters here
// (https://www.jsonrpc.org/specification).
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *messageError   `json:"error,omitempty"`
}

type messageError struct {
	Code int `json:"code"`
}

// messages is one message, or a batch.
type messages struct {
	batch bool
	all   []message
}

func parseMessages(body []byte) (messages, error) {
	m := messages{batch: bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))}
	var err error
	if m.batch {
		err = json.Unmarshal(body, &m.all)
	} else {
		m.all = make([]message, 1)
		err = json.Unmarshal(body, &m.all[0])
	}
	if err != nil {
		return messages{}, errNotJSONRPC
	}
	return m, nil
}

func readAsked(req *http.Request) (messages, error) {
	body, err := req.GetBody()
	if err != nil {
		return messages{}, err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return messages{}, err
	}
	return parseMessages(text)
}

// matchAnswers gives back the answers in body if each is to one of the calls
// asked, and no two are to the same. There may be fewer answers than calls.
func matchAnswers(asked messages, body []byte) ([]byte, error) {
	answers, err := parseMessages(body)
	if err != nil {
		return nil, err
	}
	if !answers.batch && answers.all[0].Error != nil && (asked.batch || isNull(answers.all[0].ID)) {
		return nil, &codeError{answers.all[0].Error.Code}
	}
	if asked.batch != answers.batch {
		return nil, errEnvelope
	}
	open := make(map[string]bool, len(asked.all))
	for _, m := range asked.all {
		open[string(m.ID)] = true
	}
	for _, m := range answers.all {
		if !open[string(m.ID)] {
			return nil, errEnvelope
		}
		delete(open, string(m.ID))
	}
	if answers.batch {
		return json.Marshal(answers.all)
	}
	return json.Marshal(answers.all[0])
}

func isNull(id json.RawMessage) bool { return len(id) == 0 || string(id) == "null" }

// parseRetryAfter reads the header's two forms, seconds and a date
// (https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3); 0 if it is neither.
func parseRetryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
