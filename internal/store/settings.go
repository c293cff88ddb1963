package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"herald/internal/config"
	"herald/internal/secret"
)

// Settings are what an operator chooses.
type Settings struct {
	// RedisURL has the form redis://user:password@host:port/database, or rediss:// for TLS. If it is not set, there is
	// no Redis.
	RedisURL secret.Value
	// DataDir is the folder of the files. If it is empty, there are no files.
	DataDir string
}

// Table declares the settings that fill s.
func (s *Settings) Table() []config.Setting {
	return []config.Setting{
		{
			Heading: "Files",
			Name:    "DATA_DIR",
			Example: "/var/lib/herald",
			Comment: "Folder for the prices of charts and, if REDIS_URL is unset, the last price, the supply " +
				"and saved addresses. For one process. Unset: no files.",
			Set: config.Field(&s.DataDir, parseFolder),
		},
		{
			Heading: "Several replicas",
			Name:    "REDIS_URL",
			Secret:  true,
			Example: "redis://:password@redis.example.org:6379/0",
			Comment: "Redis with the state that replicas share: redis:// or, with TLS, rediss://. " +
				"See docs/operating.md. Unset: the state is in this process.",
			Set: config.Field(&s.RedisURL, config.Hidden(parseRedisURL)),
		},
	}
}

// parseRedisURL returns value if newPool accepts it, and its read_timeout, if it has one, is from 1 ms to 1 s.
func parseRedisURL(value string) (string, error) {
	u, err := config.URL(value, "redis", "rediss")
	if err != nil {
		return "", err
	}
	for _, given := range u.Query()["read_timeout"] {
		timeout, err := time.ParseDuration(given)
		if err != nil || timeout < time.Millisecond || timeout > time.Second {
			return "", errors.New("read_timeout must be from 1ms to 1s, with its unit")
		}
	}
	_, err = newPool(value)
	if err != nil {
		return "", errors.New("has a database number or an option that the Redis client does not know")
	}
	return value, nil
}

// parseFolder returns dir if it is a folder that can be written to, or a new name in such a folder. It makes no folder.
func parseFolder(dir string) (string, error) {
	existing := dir
	_, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		existing = filepath.Dir(filepath.Clean(dir))
	}
	info, err := os.Stat(existing)
	if err != nil || !info.IsDir() {
		return "", errors.New("must be a folder that exists, or one in a folder that does")
	}
	// The name is as long as the path of a bucket's file below dir, so that a limit on the length is noticed.
	probe := filepath.Join(existing, ".probe"+strings.Repeat(rand.Text(), 4))
	err = os.WriteFile(probe, []byte("probe"), 0o600)
	_ = os.Remove(probe)
	if err != nil {
		return "", fmt.Errorf("cannot be written to: %w", config.WithoutPath(err))
	}
	return dir, nil
}
