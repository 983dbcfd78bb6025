"""Names of the search attributes, which a server has to know before the first workflow is started (CONTRACT)."""

SESSION = "CountersignSession"
SESSION_STATUS = "CountersignSessionStatus"
TODO_STATUS = "CountersignTodoStatus"
REVIEW_STATUS = "CountersignReviewStatus"
ESCALATION = "CountersignEscalation"
DOMAIN = "CountersignDomain"
NAMES = (SESSION, SESSION_STATUS, TODO_STATUS, REVIEW_STATUS, ESCALATION, DOMAIN)
