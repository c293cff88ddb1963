package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// resumePath is the path of gateway connections that resume a session. Sessions begin at another path.
const resumePath = "/resume"

// Failure is a response to a call that has no effect. It has Discord's JSON form or, if its Code is 0 and its
// Status is not 401, the form of a proxy's page.
type Failure struct {
	Status, Code int
	Message      string
	Global       bool // the rate limit applies to all calls
	RetryAfter   time.Duration
}

// handler handles a call. It returns the status and the body of the response, to be encoded as JSON, or a
// Failure.
type handler func(r *http.Request) (status int, body any, failure *Failure)

var errUnauthorized = &Failure{Status: http.StatusUnauthorized, Message: "401: Unauthorized"}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, route Route, h handler) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/v9"+path, s.serve(route, h))
	}
	handle("GET /applications/@me", Application, s.authenticated(s.application))
	handle("GET /gateway/bot", GatewayBot, s.authenticated(s.gatewayBot))
	handle("GET /applications/{app}/commands", GetCommands, s.authenticated(s.getCommands))
	handle("PUT /applications/{app}/commands", PutCommands, s.authenticated(s.putCommands))
	handle("PUT /applications/{app}/guilds/{guild}/commands", PutCommands, s.authenticated(s.putCommands))
	handle("POST /interactions/{id}/{token}/callback", Callback, s.callback)
	handle("PATCH /webhooks/{app}/{token}/messages/@original", Edit, s.edit)
	handle("POST /webhooks/{app}/{token}", FollowUp, s.followUp)
	handle("PUT /guilds/{guild}/members/{user}/roles/{role}", PutRole, s.inGuild(errMissingAccess, s.setRole))
	handle("DELETE /guilds/{guild}/members/{user}/roles/{role}", DeleteRole, s.inGuild(errMissingAccess, s.setRole))
	handle("GET /guilds/{guild}", Guild, s.inGuild(errUnknownGuild, s.guild))
	handle("GET /guilds/{guild}/members/{user}", GuildMember, s.inGuild(errMissingAccess, s.guildMember))
	mux.HandleFunc("/gateway", s.serveGateway)
	mux.HandleFunc("/gateway/", s.serveGateway) // discordgo appends a slash.
	mux.HandleFunc(resumePath, s.serveGateway)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(fmt.Errorf("no such route: %s", r.Method))
		Failure{Status: http.StatusNotFound}.Write(w)
	})
	return mux
}

// serve passes the calls of a route to the interceptor, which may let h handle them.
func (s *Server) serve(route Route, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil { // The connection ended, so the call is ignored.
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.intercept(route, w, r, func() (respond func()) {
			status, body, failure := h(r)
			if failure != nil {
				return func() { failure.Write(w) }
			}
			return func() { writeSuccess(w, status, body) }
		})
	}
}

// writeSuccess writes a response. Its headers report that the rate limit of the route is used up.
func writeSuccess(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-RateLimit-Limit", "5")
	w.Header().Set("X-RateLimit-Remaining", "0")
	w.Header().Set("X-RateLimit-Reset-After", "5.000")
	w.WriteHeader(status)
	if body != nil {
		json.NewEncoder(w).Encode(body)
	}
}

// Write writes the response.
func (f Failure) Write(w http.ResponseWriter) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(f.RetryAfter.Seconds(), 'f', -1, 64))
	}
	if f.Global {
		w.Header().Set("X-RateLimit-Global", "true")
	}
	if f.Code == 0 && f.Status != http.StatusUnauthorized {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		fmt.Fprint(w, "<html>error</html>")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	json.NewEncoder(w).Encode(map[string]any{
		"code":        f.Code,
		"message":     f.Message,
		"retry_after": f.RetryAfter.Seconds(),
		"global":      f.Global,
	})
}

// authenticated returns a handler that calls h if the call has the bot's token, and is not about another
// application.
func (s *Server) authenticated(h handler) handler {
	return func(r *http.Request) (int, any, *Failure) {
		if r.Header.Get("Authorization") != "Bot "+s.Token {
			return 0, nil, errUnauthorized
		}
		app := r.PathValue("app")
		if app != "" && app != s.ApplicationID {
			return 0, nil, &Failure{Status: http.StatusForbidden, Code: 20012, Message: "not authorized on this application"}
		}
		return h(r)
	}
}

func (s *Server) application(*http.Request) (int, any, *Failure) {
	endpoint := locked(s, func() *string { return s.endpoint })
	return http.StatusOK, map[string]any{
		"id":                        s.ApplicationID,
		"name":                      "Herald for tests",
		"bot":                       map[string]any{"id": s.ApplicationID, "username": BotName},
		"verify_key":                get(s, &s.VerifyKey),
		"interactions_endpoint_url": endpoint,
	}, nil
}

// SetEndpoint sets the interactions endpoint URL of the application, as in the Developer Portal. The fake reports
// it, but does not send interactions there.
func (s *Server) SetEndpoint(url string) { s.Change(func() { s.endpoint = &url }) }

func (s *Server) gatewayBot(*http.Request) (int, any, *Failure) {
	s.Lock()
	defer s.Unlock()
	return http.StatusOK, map[string]any{
		"url":    "ws" + strings.TrimPrefix(s.url, "http") + "/gateway",
		"shards": 1,
		"session_start_limit": map[string]any{
			"total":           1000,
			"remaining":       s.remaining,
			"reset_after":     s.resetAfter.Milliseconds(),
			"max_concurrency": 1,
		},
	}, nil
}

// errEntryPoint refuses a list of commands that lacks the application's Entry Point command.
var errEntryPoint = &Failure{
	Status:  http.StatusBadRequest,
	Code:    50240,
	Message: "the entry point command would be removed",
}

// putCommands replaces all commands, globally or in a guild. A command with the type and name of an old one keeps
// the old one's ID.
func (s *Server) putCommands(r *http.Request) (int, any, *Failure) {
	var sent []any
	if json.NewDecoder(r.Body).Decode(&sent) != nil {
		return 0, nil, s.refuse(errors.New("commands: no list"))
	}
	if err := checkCommands(sent); err != nil {
		return 0, nil, s.refuse(err)
	}
	guild := r.PathValue("guild")
	s.Lock()
	defer s.Unlock()
	stored := []map[string]any{}
	for _, item := range sent {
		stored = append(stored, s.storedCommand(guild, item.(map[string]any)))
	}
	isEntryPoint := func(command map[string]any) bool { return command["type"] == entryPoint }
	if slices.ContainsFunc(s.commands[guild], isEntryPoint) && !slices.ContainsFunc(stored, isEntryPoint) {
		return 0, nil, errEntryPoint
	}
	s.commands[guild] = stored
	s.overwrites++
	s.Notify()
	return http.StatusOK, stored, nil
}

// storedCommand returns a command that the bot has sent, as Discord returns it. The caller must hold the lock.
func (s *Server) storedCommand(guild string, sent map[string]any) map[string]any {
	command := map[string]any{
		"type":                       1.0,
		"description":                "",
		"default_member_permissions": nil,
		"nsfw":                       false,
		"integration_types":          []any{0.0}, // guilds
	}
	for name, value := range sent {
		if value != nil {
			command[name] = value
		}
	}
	command["id"] = s.nextID()
	command["version"] = s.nextID()
	command["application_id"] = s.ApplicationID
	for _, old := range s.commands[guild] {
		if old["type"] == command["type"] && old["name"] == command["name"] {
			command["id"] = old["id"]
		}
	}
	if guild != "" {
		command["guild_id"] = guild
	}
	return command
}

// getCommands returns the global commands. It refuses a call without with_localizations, because Discord would
// then omit the localizations.
func (s *Server) getCommands(r *http.Request) (int, any, *Failure) {
	if r.URL.Query().Get("with_localizations") != "true" {
		return 0, nil, s.refuse(errors.New("commands: the localizations are not asked for"))
	}
	return http.StatusOK, append([]map[string]any{}, s.Commands("")...), nil
}

// AddCommand adds a global command, in the form that Discord returns.
func (s *Server) AddCommand(command map[string]any) {
	s.Change(func() { s.commands[""] = append(s.commands[""], command) })
}

// EntryPoint returns the Entry Point command of an application with an Activity, for AddCommand.
// https://discord.com/developers/docs/interactions/application-commands#entry-point-commands
func (s *Server) EntryPoint(name string) map[string]any {
	return map[string]any{
		"id":                         "1200000000000000001",
		"version":                    "1200000000000000002",
		"application_id":             s.ApplicationID,
		"type":                       entryPoint,
		"name":                       name,
		"name_localizations":         map[string]any{"tr": name + "-tr"},
		"description":                "",
		"default_member_permissions": nil,
		"nsfw":                       false,
		"handler":                    2.0,
		"integration_types":          []any{0.0, 1.0},
		"contexts":                   []any{0.0, 1.0, 2.0},
	}
}

// maxUpload is the maximum size of a file in bytes.
// https://discord.com/developers/docs/reference#uploading-files
const maxUpload = 10 << 20

// readBody returns the JSON of a call and its files by their number. If there are files, the body is multipart:
// the JSON is the part payload_json, and each file is a part files[n].
func readBody(r *http.Request) (body any, files map[string]Attachment, err error) {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch mediaType {
	case "application/json":
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			return nil, nil, errors.New("is not JSON")
		}
		return body, nil, nil
	case "multipart/form-data":
		return readParts(r)
	default:
		return nil, nil, errors.New("Content-Type: is neither JSON nor multipart")
	}
}

func readParts(r *http.Request) (body any, files map[string]Attachment, err error) {
	if err := r.ParseMultipartForm(maxUpload); err != nil {
		return nil, nil, fmt.Errorf("multipart: %w", err)
	}
	if json.Unmarshal([]byte(r.FormValue("payload_json")), &body) != nil || body == nil {
		return nil, nil, errors.New("multipart: payload_json is missing or not JSON")
	}
	files = map[string]Attachment{}
	for name, headers := range r.MultipartForm.File {
		var number uint8
		if _, err := fmt.Sscanf(name, "files[%d]", &number); err != nil {
			return nil, nil, fmt.Errorf("multipart: %q is not files[n]", name)
		}
		file, err := headers[0].Open()
		if err != nil {
			return nil, nil, fmt.Errorf("multipart: %w", err)
		}
		content, err := io.ReadAll(file)
		if err != nil || len(content) == 0 || len(content) > maxUpload {
			return nil, nil, errors.New("multipart: a file is empty or too large")
		}
		files[fmt.Sprint(number)] = Attachment{
			Name:        headers[0].Filename,
			ContentType: headers[0].Header.Get("Content-Type"),
			Bytes:       content,
		}
	}
	return body, files, nil
}
