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

// connections is the size of the connection pool unless the URL says otherwise.
const connections = 20

// newPool returns a pool without connections, to the server of the URL. It fails on an option or
// a database number that is malformed; the error may hold the URL.
func newPool(rawURL string) (*redis.Pool, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	options := u.Query()
	option := func(name, unset string) string {
		defer delete(options, name)
		return cmp.Or(options.Get(name), unset)
	}
	timeout, wrongTimeout := time.ParseDuration(option("read_timeout", callTimeout.String()))
	size, wrongSize := strconv.Atoi(option("pool_size", strconv.Itoa(connections)))
	skipVerify, wrongSkip := strconv.ParseBool(option("skip_verify", "false"))
	database, wrongDatabase := strconv.Atoi(option("db", cmp.Or(strings.Trim(u.Path, "/"), "0")))
	if err := errors.Join(wrongTimeout, wrongSize, wrongSkip, wrongDatabase); err != nil || size < 1 || len(options) > 0 {
		return nil, errors.New("an option or the database number is malformed")
	}
	connect := (&net.Dialer{}).DialContext
	if u.Scheme == "rediss" {
		connect = (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: skipVerify}}).DialContext
	}
	addr, user := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379")), u.User.Username()
	password, _ := u.User.Password()
	dial := func(ctx context.Context, user string) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", addr, redis.DialContextFunc(connect), redis.DialReadTimeout(timeout),
			redis.DialWriteTimeout(timeout), redis.DialUsername(user), redis.DialPassword(password), redis.DialDatabase(database))
	}
	return &redis.Pool{MaxIdle: size, MaxActive: size, Wait: true, DialContext: func(ctx context.Context) (redis.Conn, error) {
		conn, err := dial(ctx, cmp.Or(user, "default"))
		if _, refused := errors.AsType[redis.Error](err); refused && user == "" {
			return dial(ctx, "") // Redis 5 has no users.
		}
		return conn, err
	}}, nil
}
