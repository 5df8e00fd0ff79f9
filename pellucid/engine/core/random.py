"""placeholder"""
from .random_generator import *
from .random_uniform import *
from .random_normal import *
