"""Translation of parameter names, which library messages use, to flags of the command line."""

import re


def with_flag(message: str, parameter: str | None) -> str:
    """Replace the first occurrence of a parameter's name in a message by its flag.

    Args:
        message: message of the library.
        parameter: name of the parameter; None leaves the message unchanged.

    Example:
        >>> with_flag("job_timeout must be positive. Got 0.", "job_timeout")
        '--job-timeout must be positive. Got 0.'
    """
    if parameter is None:
        return message
    flag = f"--{parameter.replace('_', '-')}"
    # Not inside of a path, such as /root/data.
    return re.sub(rf"(?<![\w/.-]){re.escape(parameter)}(?![\w/-])", flag, message, count=1)
