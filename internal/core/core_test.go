package core

import (
	"errors"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// staked returns a stake that was read from this number of pools, with one amount per pool. The other pools hold
// nothing.
func staked(checked int, amounts ...string) Stake {
	s := Stake{Checked: checked}
	for _, a := range amounts {
		s.Staked = append(s.Staked, PoolAmount{Amount: decimal.RequireFromString(a)})
	}
	return s
}

// withUnread returns s with a pool that could not be read.
func withUnread(s Stake) Stake {
	s.Failed = []UnreadPool{{}}
	return s
}

func TestAnAmountIsReachedByWhatWasRead(t *testing.T) {
	for _, c := range []struct {
		stake Stake
		want  StakerStatus
	}{
		{staked(21, "400", "600"), Staker},
		{staked(21, "999.999999999999999999"), NotStaker},
		{withUnread(staked(20, "1000")), Staker},
		{withUnread(staked(20, "999")), Undetermined},
	} {
		if got := c.stake.Reaches(decimal.NewFromInt(1000)); got != c.want {
			t.Errorf("%+v reaches 1000: %v, want %v", c.stake, got, c.want)
		}
	}
}

func TestAnyStakeMakesAStaker(t *testing.T) {
	for _, c := range []struct {
		stake Stake
		want  StakerStatus
	}{
		{staked(21, "0.000000000000000001"), Staker},
		{withUnread(staked(1, "1")), Staker},
		{staked(21), NotStaker},
		{withUnread(staked(20)), Undetermined},
		{Stake{}, Undetermined},
	} {
		if got := c.stake.StakerStatus(); got != c.want {
			t.Errorf("the status of %+v is %v, want %v", c.stake, got, c.want)
		}
		if got := c.stake.Reaches(decimal.Zero); got != c.want {
			t.Errorf("%+v reaches 0: %v, want %v", c.stake, got, c.want)
		}
	}
}

func TestAQuoteIsOldFromATimeOn(t *testing.T) {
	for _, c := range []struct {
		name         string
		currentUntil time.Time
		want         bool
	}{
		{"never", time.Time{}, false},
		{"in an hour", time.Now().Add(time.Hour), false},
		{"now", time.Now(), true},
	} {
		if got := (Quote{CurrentUntil: c.currentUntil}).Old(); got != c.want {
			t.Errorf("%s: old %t, want %t", c.name, got, c.want)
		}
	}
}

func TestTheTextOfAnErrorLeavesOutTheRequest(t *testing.T) {
	failed := (&Service{Name: "supply"}).Fail(Rejected, errors.New("answered with status 400"))
	failed.Asked = "GET /total-supply"
	if got := failed.Error(); got != "supply: rejected: answered with status 400" {
		t.Errorf("the text is %q", got)
	}
	if got := failed.During("total supply").Asked; got != failed.Asked {
		t.Errorf("During changes the request to %q", got)
	}
}
