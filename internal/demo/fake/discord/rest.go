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

// resumePath is where a session is resumed. It begins at another path.
const resumePath = "/resume"

// Failure is a refusal in Discord's form, or a proxy's page if it has neither a Code nor
// status 401.
type Failure struct {
	Status, Code int
	Message      string
	Global       bool // it is about all calls
	RetryAfter   time.Duration
}

// handler answers one call with a status and a body, which becomes JSON.
type handler func(r *http.Request) (status int, body any, err *Failure)

var errUnauthorized = &Failure{Status: http.StatusUnauthorized, Message: "401: Unauthorized"}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, route Route, h handler) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/v9"+path, s.serve(route, h))
	}
	handle("GET /applications/@me", Application, s.bot(s.application))
	handle("GET /gateway/bot", GatewayBot, s.bot(s.gatewayBot))
	handle("GET /applications/{app}/commands", GetCommands, s.bot(s.getCommands))
	handle("PUT /applications/{app}/commands", PutCommands, s.bot(s.putCommands))
	handle("PUT /applications/{app}/guilds/{guild}/commands", PutCommands, s.bot(s.putCommands))
	handle("POST /interactions/{id}/{token}/callback", Callback, s.callback)
	handle("PATCH /webhooks/{app}/{token}/messages/@original", Edit, s.edit)
	handle("POST /webhooks/{app}/{token}", FollowUp, s.followUp)
	handle("PUT /guilds/{guild}/members/{user}/roles/{role}", PutRole, s.inGuild(errMissingAccess, s.setRole))
	handle("DELETE /guilds/{guild}/members/{user}/roles/{role}", DeleteRole, s.inGuild(errMissingAccess, s.setRole))
	handle("GET /guilds/{guild}", Guild, s.inGuild(errUnknownGuild, s.guild))
	handle("GET /guilds/{guild}/members/{user}", GuildMember, s.inGuild(errMissingAccess, s.guildMember))
	mux.HandleFunc("/gateway", s.serveGateway)
	mux.HandleFunc("/gateway/", s.serveGateway) // as discordgo has it
	mux.HandleFunc(resumePath, s.serveGateway)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.problem(fmt.Errorf("no such route: %s", r.Method))
		Failure{Status: http.StatusNotFound}.Write(w)
	})
	return mux
}

// serve answers the calls of a route by h, through the interceptor.
func (s *Server) serve(route Route, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil { // It broke off, and so never came.
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.intercept(route, w, r, func() (respond func()) {
			status, body, refused := h(r)
			if refused != nil {
				return func() { refused.Write(w) }
			}
			return func() { writeSuccess(w, status, body) }
		})
	}
}

// writeSuccess responds as Discord does when the limit of the route is used up.
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

// Write responds with the refusal.
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
		"code": f.Code, "message": f.Message, "retry_after": f.RetryAfter.Seconds(), "global": f.Global,
	})
}

// bot returns h for calls of the bot, and for its own application alone.
func (s *Server) bot(h handler) handler {
	return func(r *http.Request) (int, any, *Failure) {
		if r.Header.Get("Authorization") != "Bot "+s.Token {
			return 0, nil, errUnauthorized
		}
		if app := r.PathValue("app"); app != "" && app != s.ApplicationID {
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

// EnterEndpoint enters an interactions endpoint URL, as in the Developer Portal. Only what
// the application says of itself changes.
func (s *Server) EnterEndpoint(url string) { s.Change(func() { s.endpoint = &url }) }

func (s *Server) gatewayBot(*http.Request) (int, any, *Failure) {
	s.Lock()
	defer s.Unlock()
	return http.StatusOK, map[string]any{
		"url":    "ws" + strings.TrimPrefix(s.url, "http") + "/gateway",
		"shards": 1,
		"session_start_limit": map[string]any{
			"total": 1000, "remaining": s.remaining, "reset_after": s.resetAfter.Milliseconds(), "max_concurrency": 1,
		},
	}, nil
}

// errEntryPoint is the refusal of commands without the application's Entry Point command.
var errEntryPoint = &Failure{
	Status: http.StatusBadRequest, Code: 50240, Message: "the entry point command would be removed",
}

// putCommands replaces all commands. A command of the same type and name keeps its ID.
func (s *Server) putCommands(r *http.Request) (int, any, *Failure) {
	var sent []any
	if json.NewDecoder(r.Body).Decode(&sent) != nil {
		return 0, nil, s.problem(errors.New("commands: no list"))
	}
	if err := checkCommands(sent); err != nil {
		return 0, nil, s.problem(err)
	}
	guild := r.PathValue("guild")
	s.Lock()
	defer s.Unlock()
	stored := []map[string]any{}
	for _, item := range sent {
		stored = append(stored, s.stored(guild, item.(map[string]any)))
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

// stored returns a sent command as Discord returns it. The caller holds the lock.
func (s *Server) stored(guild string, sent map[string]any) map[string]any {
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

// getCommands returns the global commands. Discord leaves the localizations out unless they are
// asked for.
func (s *Server) getCommands(r *http.Request) (int, any, *Failure) {
	if r.URL.Query().Get("with_localizations") != "true" {
		return 0, nil, s.problem(errors.New("commands: the localizations are not asked for"))
	}
	return http.StatusOK, append([]map[string]any{}, s.Commands("")...), nil
}

// AddCommand adds a global command, in the form that Discord returns.
func (s *Server) AddCommand(command map[string]any) {
	s.Change(func() { s.commands[""] = append(s.commands[""], command) })
}

// EntryPoint returns the Entry Point command of an application with an Activity.
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

// maxUpload bounds one file, in bytes.
// https://discord.com/developers/docs/reference#uploading-files
const maxUpload = 10 << 20

// readBody returns the JSON that a call sends, and its files by their number. With files
// the body is multipart: the JSON is the part payload_json, and each file is a part
// files[n].
func readBody(r *http.Request) (body any, files map[string]Attachment, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
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
		kind := headers[0].Header.Get("Content-Type")
		files[fmt.Sprint(number)] = Attachment{Name: headers[0].Filename, ContentType: kind, Bytes: content}
	}
	return body, files, nil
}
