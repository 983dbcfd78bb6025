"""What the recorded path of each workflow came to: its rows, where it stood last, how the run ended.

`... `: how many rows a run has before the next follows it is the server's to say, and what still ran when a round
was cancelled the machine's. Those of rounds are sorted.
"""

from __future__ import annotations

RESULTS = {
    "audited": (
        "audit_completed check_completed check_completed check_started check_started criterion_audited "
        "environment_ready role_pass_completed role_pass_completed scope_assessed snapshot_frozen "
        "tool_refused verification_started -> verified (completed)"
    ),
    "cancelled": "... ->  (canceled)",
    "cost_cap": (
        "audit_completed check_completed check_completed check_started check_started environment_ready "
        "role_pass_completed role_pass_completed scope_assessed snapshot_frozen verification_started "
        "-> needs_human (completed)"
    ),
    "disputed": (
        "audit_completed check_completed check_completed check_started check_started criterion_audited "
        "criterion_judged criterion_judged environment_ready role_pass_completed role_pass_completed "
        "role_pass_completed role_pass_completed role_pass_completed role_pass_completed scope_assessed "
        "snapshot_frozen verification_started -> verified (completed)"
    ),
    "engine_back": (
        "audit_completed check_completed check_completed check_started check_started environment_ready "
        "scope_assessed snapshot_frozen verification_started -> verified (completed)"
    ),
    "failed": (
        "audit_completed base_compared check_completed check_completed check_started check_started "
        "environment_ready retry_context_assembled scope_assessed snapshot_frozen verification_started "
        "-> changes_requested (completed)"
    ),
    "fix_loop_alone": (
        "fix_loop_started fix_iteration_started role_pass_completed tool_refused fix_iteration_completed "
        "fix_iteration_started role_pass_completed fix_iteration_completed patch_applied fix_loop_ended "
        "-> success (completed)"
    ),
    "fix_loop_cancelled": "fix_iteration_started fix_iteration_completed fix_loop_ended -> aborted (completed)",
    "fix_loop_cancelled_in_a_round": (
        "fix_iteration_started role_pass_completed fix_iteration_completed fix_loop_ended -> aborted (completed)"
    ),
    "fix_loop_never": (
        "fix_iteration_started role_pass_completed fix_iteration_completed "
        "fix_iteration_started role_pass_completed fix_iteration_completed "
        "fix_iteration_started role_pass_completed fix_iteration_completed "
        "fix_loop_ended -> escalated revision_cap_exceeded (completed)"
    ),
    "fix_loop_not_applied": (
        "fix_iteration_started role_pass_completed fix_iteration_completed fix_loop_ended "
        "-> escalated could_not_apply (completed)"
    ),
    "fix_loop_offered": (
        "fix_iteration_started role_pass_completed fix_iteration_completed patch_offered fix_loop_ended "
        "-> success (completed)"
    ),
    "followed_up": (
        "audit_completed check_completed check_started claim_contradicted criterion_audited "
        "environment_ready role_pass_completed role_pass_completed role_pass_completed role_pass_completed "
        "scope_assessed snapshot_frozen verification_started -> verified (completed)"
    ),
    "looped": (
        "audit_completed base_compared check_completed check_started environment_ready retry_context_assembled "
        "scope_assessed snapshot_frozen verification_started "
        "-> changes_requested (completed)"
    ),
    "no_image": (
        "audit_completed check_completed check_completed check_started check_started environment_ready "
        "scope_assessed snapshot_frozen verification_started -> inconclusive (completed)"
    ),
    "no_set_up": (
        "audit_completed check_completed check_completed check_started check_started environment_ready "
        "environment_set_up scope_assessed snapshot_frozen verification_started -> inconclusive "
        "(completed)"
    ),
    "refused": (
        "audit_completed environment_ready retry_context_assembled snapshot_frozen verification_started "
        "-> changes_requested (completed)"
    ),
    "sequence": (
        "audit_completed check_completed check_completed check_started check_started environment_ready "
        "scope_assessed snapshot_frozen verification_started -> verified (completed)"
    ),
    "session": ("session_created paused resumed session_completed resumed session_completed -> completed (goes on)"),
    "session_continued": "... -> running (continued_as_new)",
    "session_continuing": "... -> completed (goes on)",
    "session_paused": "session_created paused resumed session_completed -> completed (goes on)",
    "session_stopped": "session_created stopped -> stopped (goes on)",
    "session_timed_out": "session_created paused session_timed_out -> timed_out (goes on)",
    "set_up": (
        "audit_completed check_completed check_completed check_started check_started environment_ready "
        "environment_set_up scope_assessed snapshot_frozen verification_started -> verified (completed)"
    ),
    "standalone_act": "approved -> verified (completed)",
    "standalone_act_stale": "refused -> verified (completed)",
    "tests_wanted": (
        "audit_completed check_completed check_completed check_started check_started criterion_audited "
        "environment_ready role_pass_completed role_pass_completed role_pass_completed scope_assessed "
        "snapshot_frozen verification_started -> verified (completed)"
    ),
    "todo_capped": (
        "todo_created todo_started todo_claimed audit_started changes_requested todo_claimed "
        "audit_started changes_requested todo_claimed audit_started escalated -> needs_human (goes on)"
    ),
    "todo_continued": "... -> in_progress (continued_as_new)",
    "todo_continuing": "... -> verified (goes on)",
    "todo_escalated": (
        "todo_created todo_started todo_claimed audit_started escalated returned todo_claimed "
        "audit_started approved -> verified (goes on)"
    ),
    "todo_followed_up": (
        "todo_created todo_started todo_claimed audit_started follow_up_asked follow_up_answered "
        "follow_up_asked follow_up_expired approved -> verified (goes on)"
    ),
    "todo_overridden": (
        "todo_created todo_started todo_claimed audit_started escalated human_override -> verified (goes on)"
    ),
    "todo_paused": "todo_created todo_started refused todo_claimed audit_started approved -> verified (goes on)",
    "todo_reopened": (
        "todo_created todo_started todo_claimed audit_started approved reopened todo_claimed "
        "audit_started approved -> verified (goes on)"
    ),
    "todo_revised": (
        "todo_created todo_started todo_claimed audit_started changes_requested todo_claimed "
        "audit_started approved -> verified (goes on)"
    ),
    "todo_stopped": "todo_created todo_started todo_claimed audit_started round_ignored -> claimed (goes on)",
    "todo_timed_out": "todo_created todo_started escalated -> needs_human (goes on)",
    "todo_unfinished": "todo_created escalated -> needs_human (goes on)",
    "todo_verified": "todo_created todo_started todo_claimed audit_started approved -> verified (goes on)",
    "verified": (
        "audit_completed check_completed check_completed check_completed check_started check_started "
        "check_started environment_ready scope_assessed snapshot_frozen verification_started -> verified "
        "(completed)"
    ),
}
