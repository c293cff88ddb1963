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

func TestAnAmountIsReachedByTheStakesThatWereRead(t *testing.T) {
	for _, test := range []struct {
		stake Stake
		want  StakerStatus
	}{
		{stake: staked(21, "400", "600"), want: Staker},
		{stake: staked(21, "999.999999999999999999"), want: NotStaker},
		{stake: withUnread(staked(20, "1000")), want: Staker},
		{stake: withUnread(staked(20, "999")), want: Undetermined},
	} {
		if got := test.stake.Reaches(decimal.NewFromInt(1000)); got != test.want {
			t.Errorf("%+v reaches 1000: %v, want %v", test.stake, got, test.want)
		}
	}
}

func TestAnyStakeMakesAStaker(t *testing.T) {
	for _, test := range []struct {
		stake Stake
		want  StakerStatus
	}{
		{stake: staked(21, "0.000000000000000001"), want: Staker},
		{stake: withUnread(staked(1, "1")), want: Staker},
		{stake: staked(21), want: NotStaker},
		{stake: withUnread(staked(20)), want: Undetermined},
		{stake: Stake{}, want: Undetermined},
	} {
		if got := test.stake.StakerStatus(); got != test.want {
			t.Errorf("the status of %+v is %v, want %v", test.stake, got, test.want)
		}
		if got := test.stake.Reaches(decimal.Zero); got != test.want {
			t.Errorf("%+v reaches 0: %v, want %v", test.stake, got, test.want)
		}
	}
}

func TestAQuoteIsOldFromATimeOn(t *testing.T) {
	for _, test := range []struct {
		name         string
		currentUntil time.Time
		want         bool
	}{
		{name: "never", currentUntil: time.Time{}, want: false},
		{name: "in an hour", currentUntil: time.Now().Add(time.Hour), want: false},
		{name: "now", currentUntil: time.Now(), want: true},
	} {
		if got := (Quote{CurrentUntil: test.currentUntil}).Old(); got != test.want {
			t.Errorf("%s: old %t, want %t", test.name, got, test.want)
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
