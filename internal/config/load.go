package config

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// Mistakes are all that is wrong with the settings, a line each with the
// setting's name and an example, in the order of config.example.env. No line
// repeats a value.
type Mistakes []string

func (m Mistakes) Error() string { return strings.Join(m, "\n") }

// Load reads the settings from environ, in the form of os.Environ, and from
// the file envFile unless that is empty; environ wins. It demands no
// platform's token. It fails with Mistakes.
func Load(environ []string, envFile string) (*Config, error) {
	return load(environ, envFile, false)
}

// LoadToServe is Load, but demands the token of at least one platform.
func LoadToServe(environ []string, envFile string) (*Config, error) {
	return load(environ, envFile, true)
}

func load(environ []string, envFile string, serve bool) (*Config, error) {
	var mistakes Mistakes
	in := input{environment: parseEnviron(environ)}
	if envFile != "" {
		var err error
		in.file, err = readEnvFile(envFile)
		for _, e := range each(err) {
			mistakes = append(mistakes, fmt.Sprintf("--env-file: %v; a right line is LOG_LEVEL=info", e))
		}
	}
	if serve && !in.has(telegramToken) && !in.has(discordToken) {
		mistakes = append(mistakes, fmt.Sprintf(
			"%s, %s: neither is set, so there is no platform to serve; set one, for example %[1]s=%[3]s, or try `bot demo`, which needs no settings",
			telegramToken, discordToken, exampleTelegramToken))
	}
	c := &Config{}
	for _, s := range settings {
		for _, e := range each(s.read(in, c)) {
			mistakes = append(mistakes, fmt.Sprintf("%s: %v; for example %[1]s=%[3]s", s.name, e, s.example))
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return c, nil
}

// each takes errors.Join apart.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// read brings the setting from in to c.
func (s setting) read(in input, c *Config) error {
	value, err := in.value(s)
	if err != nil {
		return err
	}
	var wrong []error
	if s.conflict != nil {
		wrong = append(wrong, s.conflict(in, value))
	}
	switch {
	case value != "":
		wrong = append(wrong, each(s.set(c, value))...)
	case s.byDefault != "":
		wrong = append(wrong, s.set(c, s.byDefault))
	case s.required:
		wrong = append(wrong, errors.New("is required and not set"))
	}
	return errors.Join(wrong...)
}

// input is where settings are looked up. Names with an empty value are absent.
type input struct {
	environment map[string]string
	file        map[string]string
}

// has tells whether the setting called name is given, be it wrong in form.
func (in input) has(name string) bool {
	for _, source := range []map[string]string{in.environment, in.file} {
		if source[name] != "" || source[name+fileSuffix] != "" {
			return true
		}
	}
	return false
}

// fileSuffix makes the name that gives a secret by a file.
const fileSuffix = "_FILE"

// value is what is given for s, empty if nothing is.
func (in input) value(s setting) (string, error) {
	for _, source := range []map[string]string{in.environment, in.file} {
		value, file := source[s.name], ""
		if s.secret {
			file = source[s.name+fileSuffix]
		}
		switch {
		case value != "" && file != "":
			return "", fmt.Errorf("is set and so is %s%s, which contradict each other", s.name, fileSuffix)
		case value != "":
			return value, nil
		case file != "":
			return readSecretFile(s.name+fileSuffix, file)
		}
	}
	return "", nil
}

func readSecretFile(name, path string) (string, error) {
	const limit = 64 << 10
	content, err := readFile(path, limit)
	if err != nil {
		return "", fmt.Errorf("the file named by %s %w", name, err)
	}
	value := strings.TrimSpace(content)
	if value == "" {
		return "", fmt.Errorf("the file named by %s is empty", name)
	}
	return value, nil
}

// readFile reads at most limit bytes. Its errors go on from the file's name,
// and do not hold it: it may be a secret that was given in place of a path.
func readFile(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot be opened: %w", withoutPath(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", withoutPath(err))
	}
	if int64(len(content)) > limit {
		return "", fmt.Errorf("is larger than %d bytes", limit)
	}
	return strings.TrimPrefix(string(content), byteOrderMark), nil
}

// byteOrderMark is what some editors begin a UTF-8 file with.
const byteOrderMark = "\ufeff"

func withoutPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Secrets are the values that must never be shown: every secret, and the parts
// of EVM_RPC_URL and REDIS_URL that may carry a key.
func (c *Config) Secrets() []string {
	secrets := append(urlKeys(c.Chain.RPCURL), urlKeys(c.RedisURL.Reveal())...)
	for _, s := range []Secret{c.Telegram.Token, c.Telegram.WebhookSecret, c.Discord.Token,
		c.Partner.SecretKey, c.Price.APIKey, c.RedisURL} {
		if s.IsSet() {
			secrets = append(secrets, s.Reveal())
		}
	}
	return secrets
}

// urlKeys are the user, the password, and each path segment and query value
// of rawURL that is long enough to be a key.
func urlKeys(rawURL string) []string {
	// A path segment such as "mainnet" is none, and hiding it would only
	// make logs hard to read.
	const shortest = 8
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil
	}
	parts := strings.Split(u.Path, "/")
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	password, _ := u.User.Password()
	var keys []string
	for _, part := range append(parts, u.User.Username(), password) {
		if len(part) >= shortest {
			keys = append(keys, part)
		}
	}
	return keys
}
