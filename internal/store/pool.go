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

// newPool returns a pool without connections, to the server of the URL. It fails on an option
// or a number that is malformed; the error may hold parts of the URL.
func newPool(rawURL string) (*redis.Pool, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	database, timeout, size, skipVerify := cmp.Or(strings.Trim(u.Path, "/"), "0"), callTimeout, connections, false
	for name, values := range u.Query() {
		switch value := values[len(values)-1]; name {
		case "db":
			database = value
		case "read_timeout":
			timeout, err = time.ParseDuration(value)
		case "pool_size":
			size, err = strconv.Atoi(value)
		case "skip_verify":
			skipVerify, err = strconv.ParseBool(value)
		default:
			err = errors.ErrUnsupported
		}
		if err != nil {
			return nil, err
		}
	}
	db, err := strconv.Atoi(database)
	if err != nil || size < 1 {
		return nil, errors.New("a number is malformed")
	}
	dial := (&net.Dialer{}).DialContext
	if u.Scheme == "rediss" {
		dial = (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: skipVerify}}).DialContext
	}
	addr := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))
	user := u.User.Username()
	password, _ := u.User.Password()
	dialAs := func(ctx context.Context, user string) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", addr, redis.DialContextFunc(dial), redis.DialReadTimeout(timeout),
			redis.DialWriteTimeout(timeout), redis.DialUsername(user), redis.DialPassword(password), redis.DialDatabase(db))
	}
	return &redis.Pool{MaxIdle: size, MaxActive: size, Wait: true, DialContext: func(ctx context.Context) (redis.Conn, error) {
		conn, err := dialAs(ctx, cmp.Or(user, "default"))
		if _, replied := errors.AsType[redis.Error](err); replied && user == "" {
			return dialAs(ctx, "") // Redis 5 has no users.
		}
		return conn, err
	}}, nil
}

// call makes a call on a connection and returns the reply.
type call func(redis.Conn) (reply any, err error)

// command returns the call of a command.
func command(name string, args ...any) call {
	return func(conn redis.Conn) (any, error) { return conn.Do(name, args...) }
}

// run returns the call of a script. Its keyCount is -1.
func run(script *redis.Script, keys []string, args ...any) call {
	all := append(redis.Args{len(keys)}.AddFlat(keys), args...)
	return func(conn redis.Conn) (any, error) { return script.Do(conn, all...) }
}

// do makes a call on a connection of the pool. It waits for one until ctx is done, for a second
// at most. Once do has one, the time limits of the connection end the call, not ctx.
func (r *Redis) do(ctx context.Context, c call) (reply any, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := r.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return c(conn)
}

// dropIdle has the pool close each connection that is idle now, instead of using it.
func (r *Redis) dropIdle() {
	now := time.Now()
	r.dropped.Store(&now)
}

var errDropped = errors.New("the connection was dropped")

// usable is the pool's check of a connection before its use.
func (r *Redis) usable(_ redis.Conn, idleSince time.Time) error {
	if dropped := r.dropped.Load(); dropped != nil && !idleSince.After(*dropped) {
		return errDropped
	}
	return nil
}
