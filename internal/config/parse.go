package config

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"herald/internal/chat"
)

// The functions here read one value each. Their errors go on from the
// setting's name and never hold the value.

// into makes the set function of a setting from the field it fills and the
// function that reads it.
func into[T any](field func(*Config) *T, parse func(string) (T, error)) func(*Config, string) error {
	return func(c *Config, value string) error {
		parsed, err := parse(value)
		if err == nil {
			*field(c) = parsed
		}
		return err
	}
}

// matching reads text that matches form, which description puts into words.
func matching(form, description string) func(string) (string, error) {
	pattern := regexp.MustCompile(`^(?:` + form + `)$`)
	return func(value string) (string, error) {
		if !pattern.MatchString(value) {
			return "", fmt.Errorf("must be %s", description)
		}
		return value, nil
	}
}

// hidden makes a Secret of what parse reads.
func hidden(parse func(string) (string, error)) func(string) (Secret, error) {
	return func(value string) (Secret, error) {
		value, err := parse(value)
		return NewSecret(value), err
	}
}

// visible is what can stand in an HTTP header.
var visible = matching(`[!-~]+`, "visible ASCII characters without white space")

// snowflake is a numeric ID as Discord and Telegram have them.
var snowflake = matching(`[1-9][0-9]{0,19}`, "a numeric ID")

func anyText(value string) (string, error) { return value, nil }

// oneOf reads a choice by its name.
func oneOf[T any](names []string, values []T) func(string) (T, error) {
	return func(value string) (T, error) {
		if i := slices.Index(names, value); i >= 0 {
			return values[i], nil
		}
		var none T
		return none, fmt.Errorf("must be one of %s", strings.Join(names, ", "))
	}
}

var (
	onOff     = oneOf([]string{"on", "off"}, []bool{true, false})
	logLevel  = oneOf([]string{"debug", "info", "warn", "error"}, []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError})
	logFormat = oneOf([]string{"text", "json"}, []bool{false, true})
)

// webURL reads an absolute URL of one of the schemes.
func webURL(value string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(value)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" || strings.ContainsFunc(value, unicode.IsSpace) {
		return nil, fmt.Errorf("must be a URL with %s:// and a host", strings.Join(schemes, ":// or "))
	}
	if port := u.Port(); port != "" && !validPort(port) {
		return nil, errors.New("has a port that is not a number up to 65535")
	}
	return u, nil
}

func validPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// baseURL reads a URL that paths are appended to.
func baseURL(value string) (string, error) {
	u, err := webURL(value, "http", "https")
	if err != nil {
		return "", err
	}
	if u.User != nil || strings.ContainsAny(value, "?#") {
		return "", errors.New("must have no user, query or fragment, as paths are appended to it")
	}
	return strings.TrimRight(value, "/"), nil
}

// origin reads a URL of which only scheme and host count.
func origin(value string) (string, error) {
	base, err := baseURL(value)
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(base); err != nil || u.Path != "" {
		return "", errors.New("must be a scheme and a host without a path")
	}
	return base, nil
}

// rpcURL reads the URL of a JSON-RPC endpoint, which may hold a key anywhere.
func rpcURL(value string) (string, error) {
	if _, err := webURL(value, "http", "https"); err != nil {
		return "", err
	}
	return strings.TrimRight(value, "/"), nil
}

// redisURL reads what the Redis client accepts.
func redisURL(value string) (Secret, error) {
	if _, err := webURL(value, "redis", "rediss"); err != nil {
		return Secret{}, err
	}
	if _, err := redis.ParseURL(value); err != nil {
		return Secret{}, errors.New("has a database number or an option that the Redis client does not know")
	}
	return NewSecret(value), nil
}

// reservedPaths are served on HTTP_ADDR besides Telegram's webhook.
var reservedPaths = []string{"/healthz", "/readyz", "/metrics", "/discord/interactions"}

var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._~/-]*$`)

func setWebhook(c *Config, value string) error {
	u, err := webURL(value, "https")
	if err != nil {
		return err
	}
	if u.User != nil || strings.ContainsAny(value, "?#") {
		return errors.New("must have no user, query or fragment")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	// The path is matched by net/http.ServeMux, which cleans what it is asked
	// and reads braces as wildcards.
	if !plainPath.MatchString(u.EscapedPath()) || path.Clean(u.Path) != u.Path {
		return errors.New("must have a path of letters, digits and ._~- without empty parts or a slash at its end")
	}
	if slices.Contains(reservedPaths, u.Path) {
		return fmt.Errorf("must have another path than %s, which are taken", strings.Join(reservedPaths, ", "))
	}
	c.Telegram.WebhookURL, c.Telegram.WebhookPath = u.String(), u.Path
	return nil
}

func publicKey(value string) (ed25519.PublicKey, error) {
	key, err := hex.DecodeString(value)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("must be an Ed25519 public key, %d hexadecimal digits", 2*ed25519.PublicKeySize)
	}
	return key, nil
}

// whole reads a whole number within bounds.
func whole(least, most int) func(string) (int, error) {
	return func(value string) (int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return n, nil
	}
}

func chainID(value string) (uint64, error) {
	id, err := strconv.ParseUint(value, 10, 64)
	if err != nil || id == 0 {
		return 0, errors.New("must be a whole number above 0 in decimal digits")
	}
	return id, nil
}

// longest bounds durations, so that a sum of two never overflows.
const longest = 365 * 24 * time.Hour

func atLeast(least time.Duration) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		d, err := time.ParseDuration(value)
		switch {
		case err != nil:
			return 0, errors.New("must be a duration with its unit, such as 30s, 5m or 1h30m")
		case d < least || d > longest:
			return 0, fmt.Errorf("must be a duration from %v to %v", least, longest)
		}
		return d, nil
	}
}

// positive reads a duration above zero.
var positive = atLeast(time.Millisecond)

// symbol reads what stands after amounts.
func symbol(value string) (string, error) {
	const most = 20
	hidden := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }
	if !utf8.ValidString(value) || utf8.RuneCountInString(value) > most || strings.ContainsFunc(value, hidden) {
		return "", fmt.Errorf("must be at most %d visible characters without white space", most)
	}
	return value, nil
}

// words takes a list apart at commas and white space.
func words(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

var responseCode = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func responseCodes(value string) ([]string, error) {
	codes := words(value)
	for i, code := range codes {
		if !responseCode.MatchString(code) {
			return nil, fmt.Errorf("entry %d must be a code of letters, digits and _.-", i+1)
		}
		if n, err := strconv.ParseFloat(code, 64); err == nil && n == 0 {
			return nil, fmt.Errorf("entry %d is 0, which means success", i+1)
		}
	}
	return codes, nil
}

func operators(value string) ([]chat.User, error) {
	var users []chat.User
	for i, entry := range words(value) {
		platform, id, _ := strings.Cut(entry, ":")
		_, err := snowflake(id)
		if err != nil || platform != "telegram" && platform != "discord" {
			return nil, fmt.Errorf("entry %d must be telegram:ID or discord:ID with a numeric ID", i+1)
		}
		users = append(users, chat.User{Platform: chat.Platform(platform), ID: id})
	}
	return users, nil
}

// off is how a setting with a default is turned off.
const off = "off"

func listenAddress(value string) (string, error) {
	if value == off {
		return "", nil
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil || !validPort(port) || strings.ContainsAny(host, "/@") {
		return "", errors.New("must be host:port or off")
	}
	return value, nil
}
