// Package scenes makes scenarios of events: the runs of an object's programs that events would
// cause, with the tasks, files and sockets that they tell of as kernel objects. [Scenario] is where
// to start. It does not know where events come from (internal/record) nor what tools do with them
// (internal/exec).
package scenes
