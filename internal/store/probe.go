package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Probe makes each call that the bot makes, on keys of its own, which it deletes or which
// expire within a second. It fails if Redis is a read-only replica or refuses one of the
// calls. After a failure Redis counts as down until a check by maintain succeeds. The error
// names the call and what is wrong, without the URL and the server's text. Probe blocks for
// the time of eight calls at most.
func (r *Redis) Probe(ctx context.Context) error {
	r.dropped.Store(new(time.Now()))
	id := "probe " + r.owner
	saved, row, limit, claimed := r.valueKey(id), r.valueKey("members "+id), r.key("limit", id), r.claimKey(id)
	claim := func(owner string) call {
		return run(claimScript, []string{claimed}, id, owner, 1000)
	}
	for _, step := range []struct {
		what string
		call call
	}{
		{"write to", command("SET", saved, id, "PX", 1000)},
		{"read from", command("GETRANGE", saved, 0, maxValue)},
		{"replace a value in", run(replace, []string{row}, "", id)},
		{"delete from", run(replace, []string{row}, id, "")},
		{"claim an update in", claim("probe")},
		{"claim an update in", claim("another")}, // Another's claim is read in another way.
		{"limit in", run(limitScript, []string{limit}, 0, 1, 1000)},
		{"release an update in", run(changeClaims, []string{claimed}, id, "", 1)},
	} {
		if _, err := r.do(ctx, step.call); err != nil {
			r.up.Store(false)
			return fmt.Errorf("%s redis: %s", step.what, reason(err))
		}
	}
	return nil
}

// Durability returns a warning for each way in which Redis may lose saved addresses: it
// writes nothing to disk, or may evict them. A warning also says what could not be checked,
// and which right of the user would allow that. Durability blocks for the time of two calls
// at most.
func (r *Redis) Durability(ctx context.Context) (warnings []string) {
	info, err := redis.String(r.do(ctx, command("INFO")))
	if err != nil {
		return []string{fmt.Sprintf("whether it keeps saved addresses could not be checked: %s; give its user the right +info", reason(err))}
	}
	if !strings.Contains(info, "aof_enabled:1") {
		switch found, err := redis.StringMap(r.do(ctx, command("CONFIG", "GET", "save"))); {
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("it has appendonly off, and whether it saves snapshots could not be checked: %s; "+
				"set appendonly yes, or give its user the right +config|get", reason(err)))
		case found["save"] == "":
			warnings = append(warnings, "it writes nothing to disk, so its restart loses saved addresses: set appendonly yes")
		}
	}
	_, policy, known := strings.Cut(info, "maxmemory_policy:")
	policy, _, _ = strings.Cut(policy, "\r\n")
	switch {
	case !known:
		warnings = append(warnings, "it does not tell its maxmemory-policy, which must not be one of allkeys-*")
	case strings.HasPrefix(policy, "allkeys-"):
		warnings = append(warnings, "its maxmemory-policy may delete saved addresses when memory is short: set noeviction or volatile-lru")
	}
	return warnings
}

// reason returns words for err: the server's error code, or the kind of failure. It returns
// no other text of the server.
func reason(err error) string {
	var reply redis.Error
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return "its certificate is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &reply):
		// So Redis 7 and its successors say NOPERM of a call by a script.
		if text := reply.Error(); strings.Contains(text, "user executing the script can't") || strings.Contains(text, "ACL failure in script") {
			return "refused with NOPERM"
		}
		if code, _, _ := strings.Cut(reply.Error(), " "); code == strings.ToUpper(code) {
			return "refused with " + code
		}
		return "refused"
	}
	return "no connection"
}
