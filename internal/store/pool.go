package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// connections is the size of the connection pool, unless the URL has a pool_size.
const connections = 20

// options are the options of a Redis URL, such as redis://:password@host:6379/0?read_timeout=100ms.
type options struct {
	timeout    time.Duration // of a call: read_timeout
	size       int           // of the pool: pool_size
	skipVerify bool          // whether to trust any certificate: skip_verify
	database   int           // the path, or db
}

// parseOptions returns the options of a URL. It fails if one is malformed or unknown.
func parseOptions(u *url.URL) (options, error) {
	remaining := u.Query()
	take := func(name, defaultValue string) string {
		value := cmp.Or(remaining.Get(name), defaultValue)
		delete(remaining, name)
		return value
	}
	timeout, wrongTimeout := time.ParseDuration(take("read_timeout", callTimeout.String()))
	size, wrongSize := strconv.Atoi(take("pool_size", strconv.Itoa(connections)))
	skipVerify, wrongSkip := strconv.ParseBool(take("skip_verify", "false"))
	database, wrongDatabase := strconv.Atoi(take("db", cmp.Or(strings.Trim(u.Path, "/"), "0")))
	err := errors.Join(wrongTimeout, wrongSize, wrongSkip, wrongDatabase)
	hasUnknown := len(remaining) > 0
	if err != nil || size < 1 || hasUnknown {
		return options{}, errors.New("an option or the database number is malformed")
	}
	return options{timeout: timeout, size: size, skipVerify: skipVerify, database: database}, nil
}

// newPool returns a pool for connections to the server of the URL. It makes no connection. It fails if an option or the
// database number is malformed. The error may contain the URL.
func newPool(rawURL string) (*redis.Pool, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	o, err := parseOptions(u)
	if err != nil {
		return nil, err
	}
	return &redis.Pool{
		MaxIdle:   o.size,
		MaxActive: o.size,
		Wait:      true,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			user := u.User.Username()
			conn, err := dial(ctx, u, o, cmp.Or(user, "default"))
			if user == "" && isReply(err) {
				return dial(ctx, u, o, "") // Redis 5 has no users.
			}
			return conn, err
		},
	}, nil
}

// dial connects to the server of a URL as user. If user is empty, dial sends only the password.
func dial(ctx context.Context, u *url.URL, o options, user string) (redis.Conn, error) {
	connect := (&net.Dialer{}).DialContext
	if u.Scheme == "rediss" {
		connect = (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: o.skipVerify}}).DialContext
	}
	password, _ := u.User.Password()
	return redis.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379")),
		redis.DialContextFunc(connect),
		redis.DialReadTimeout(o.timeout),
		redis.DialWriteTimeout(o.timeout),
		redis.DialUsername(user),
		redis.DialPassword(password),
		redis.DialDatabase(o.database))
}
