//go:build soak

package soak

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Lines of the answer to /status, behind the names of the services.
var (
	serviceNames = []string{"Prices", "Supply", "Staking", "Registration"}
	fineLine     = regexp.MustCompile(`^fine(?:, asked| · Block [\d,]+,) (\d{4}-.*)$`)
	partlyLine   = regexp.MustCompile(`^Checked \d+ of 21 pools · Block [\d,]+, (\d{4}-.*)$`)
	failingLine  = regexp.MustCompile(`^not working: first failed (\d{4}-.*), last asked (\d{4}-.*)$`)
)

// mostQuiet is how long ago a service may have been asked in a soak.
const mostQuiet = 10 * time.Minute

func checkStatus(lines []string) (verdict, error) {
	if len(lines) < 1+len(serviceNames) {
		return untrue, errAnswer
	}
	failing, unsure := false, false
	for i, line := range lines[1 : 1+len(serviceNames)] {
		name, said, _ := strings.Cut(line, ": ")
		at, oldest := fineLine.FindStringSubmatch(said), mostQuiet
		if at == nil && said != "couldn't be checked" {
			// It may have begun to fail at any time.
			at, oldest = slices.Concat(partlyLine.FindStringSubmatch(said), failingLine.FindStringSubmatch(said)), time.Hour
			failing = true
		}
		unsure = unsure || at == nil
		if name != serviceNames[i] || failing && at == nil {
			return untrue, errAnswer
		}
		for _, text := range at[min(1, len(at)):] {
			asked, err := time.Parse(minuteForm, text)
			if age := time.Since(asked); err != nil || age < -time.Minute || age > oldest {
				return untrue, errors.New("a service was asked at an impossible time")
			}
		}
	}
	for _, line := range lines[1+len(serviceNames):] {
		if !cause.MatchString(line) && !exits.MatchString(line) {
			return untrue, errAnswer
		}
	}
	v, title := asItIs, "Everything works"
	switch {
	case failing:
		v, title = unchecked, "Not everything works"
	case unsure:
		v, title = unchecked, "I couldn't check everything"
	}
	return exactly(lines[:1], []string{title}, v)
}
