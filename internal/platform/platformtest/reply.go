package platformtest

import (
	"fmt"
	"reflect"
	"time"

	"herald/internal/chat"
)

// FullReply returns a Reply, and the markers in it. A marker is a text such as "marker7q". Each text and each value of
// the Reply is another marker, so a renderer that shows all markers shows every field. The Reply has a button for a
// command and one for a page. It has no picture, because a platform may show less beside a picture.
func FullReply() (reply *chat.Reply, markers []string) {
	reply = &chat.Reply{}
	fill(reflect.ValueOf(reply).Elem(), &markers)
	reply.Audience = chat.SenderAlone // Platforms may leave out a repeated reply.
	return reply, markers
}

// fill sets v, which is part of a Reply, and appends the markers that it sets to markers.
func fill(v reflect.Value, markers *[]string) {
	newMarker := func() string {
		marker := fmt.Sprintf("marker%dq", len(*markers))
		*markers = append(*markers, marker)
		return marker
	}
	switch v.Interface().(type) {
	case chat.Text:
		// There is no message with this key. The key itself is then shown.
		v.Set(reflect.ValueOf(chat.Say(newMarker())))
		return
	case []chat.Action:
		v.Set(reflect.ValueOf([]chat.Action{
			{Label: chat.Say(newMarker()), Command: "price", Edit: true},
			{Label: chat.Say(newMarker()), URL: "https://example.org/"},
		}))
		return
	case chat.Language, time.Time, *chat.Image, *chat.Ask, *chat.Rendered, string:
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			needNotBeShown := name == "Folded" || name == "Source" || name == "Join"
			if !needNotBeShown {
				fill(v.Field(i), markers)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), markers)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(chat.Plain(newMarker())))
	case reflect.Int:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("platformtest: a Reply now holds a " + v.Kind().String() + ", which FullReply cannot fill")
	}
}
